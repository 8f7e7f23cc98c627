#!/bin/bash
# plan_jobs.sh LOCKSTEP slurm|parallel|hyperqueue: runs the script of `plan --emit` on the engine and
# compares the merged result with that of one process. Exit 77 where the engine is not installed or
# its daemons cannot start. Slurm runs on loopback, with nothing in /etc; HyperQueue, which Debian
# does not have, is a stand-in that runs the tasks of the array as `hq submit` does.
set -euo pipefail
binary=$1
engine=$2
export PATH=$(dirname "$binary"):$PATH
folder=$(mktemp -d "${TMPDIR:-/tmp}/lockstep-jobs-XXXXXX")
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
skip() { echo "skipped: $1" >&2; exit 77; }
cd "$folder"

options=(--model llama3-8b --cluster dgx-h100 --nodes 2 --global-batch 32 --vary tp=4,8 --vary pp=1,2
  --fix cp=1 --fix micro_batch=1 --fix recompute=none --fix order=tp-cp-dp-pp --vary overlap=none
  --where 'memory_margin >= 4 GiB')

start_slurm() {
  for command in munged slurmctld slurmd sbatch sinfo; do
    PATH=$PATH:/usr/sbin command -v $command >/dev/null || skip "no $command"
  done
  [[ $EUID -eq 0 ]] || skip "slurmctld and slurmd need root here"
  export PATH=$PATH:/usr/sbin
  local d=$folder/slurm host
  host=$(hostname -s)
  mkdir -m 755 "$d" "$d/state" "$d/spool"
  chmod 755 "$folder"
  head -c 128 /dev/urandom > "$d/munge.key"
  chmod 400 "$d/munge.key"
  munged --foreground --force --key-file="$d/munge.key" --socket="$d/munge.sock" \
    --log-file="$d/munged.log" --pid-file="$d/munged.pid" --seed-file="$d/munged.seed" \
    2> "$d/munged.err" &
  pids+=($!)
  local port=$((20000 + $$ % 20000))
  cat > "$d/slurm.conf" <<END
ClusterName=t
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$d/munge.sock
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool
SlurmctldPidFile=$d/slurmctld.pid
SlurmdPidFile=$d/slurmd.pid
SlurmctldLogFile=$d/slurmctld.log
SlurmdLogFile=$d/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MaxArraySize=1001
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=p Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$d/slurm.conf
  for _ in $(seq 50); do [[ -S $d/munge.sock ]] && break; sleep 0.1; done
  [[ -S $d/munge.sock ]] || skip "munged does not start: $(cat "$d/munged.err" "$d/munged.log")"
  slurmctld -D > "$d/slurmctld.out" 2>&1 &
  pids+=($!)
  slurmd -D -N "$host" > "$d/slurmd.out" 2>&1 &
  pids+=($!)
  for _ in $(seq 100); do
    [[ $(timeout 5 sinfo -h -o %t 2>/dev/null) == idle ]] && return
    sleep 0.2
  done
  skip "slurmctld and slurmd do not start: $(tail -n 3 "$d/slurmctld.log" "$d/slurmd.log" 2>&1)"
}

case $engine in
  slurm) start_slurm ;;
  parallel)
    command -v parallel >/dev/null || skip "no parallel"
    parallel --version 2>/dev/null | grep -q "^GNU parallel" || skip "no GNU parallel"
    ;;
  hyperqueue)
    mkdir bin
    cat > bin/hq <<'END'
#!/bin/bash
set -euo pipefail
[[ $1 == submit ]]
while [[ $1 != -- ]]; do
  [[ $1 != --array=* ]] || array=${1#--array=}
  shift
done
shift
for ((task = ${array%-*}; task <= ${array#*-}; ++task)); do HQ_TASK_ID=$task "$@"; done
END
    chmod +x bin/hq
    export PATH=$folder/bin:$PATH
    ;;
esac

lockstep plan "${options[@]}" --emit "$engine" --shards 3 --store out.db > script.sh
if [[ $engine == slurm ]]; then
  merge=$(bash script.sh)
  for _ in $(seq 400); do
    [[ -n $(squeue -h 2>/dev/null) ]] || break
    sleep 0.25
  done
  echo "merge job: $merge"
  cat out.log
else
  bash script.sh
fi
lockstep plan "${options[@]}" > whole.txt
lockstep merge out.db > merged.txt
cmp whole.txt merged.txt
[[ $(lockstep query out.db 'SELECT count(*) AS n FROM shards' --format csv | tail -n 1) == 3 ]]
# Started again, it simulates nothing anew and ends with the same.
if [[ $engine != slurm ]]; then
  bash script.sh > /dev/null
  lockstep merge out.db | cmp - whole.txt
fi
