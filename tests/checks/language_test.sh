#!/usr/bin/env bash
# Plants banned phrases in a tree of its own; the check must refuse those in string literals, also
# where a literal or a doc comment continues on the next line, in configs and in Markdown, with their
# lines, and accept those in plain comments and in identifiers.
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/sim" "$tree/tools" "$tree/configs"
cat > "$tree/sim/good.cpp" <<'CPP'
// What nobody wrote, in a plain comment.
/// The timer of `beside`.
const char* name = "beside";
const char* text = "besides";
CPP
"$check" "$tree"

cat > "$tree/sim/bad.cpp" <<'CPP'
const char* text =
    "the schedule cannot "
    "end";
/// Empty where
/// there is none.
CPP
printf '{\n  "summary": "a NIC beside every GPU"\n}\n' > "$tree/configs/bad.json"
printf '# Title\n\nWhat it\ntells.\n' > "$tree/README.md"
if output=$("$check" "$tree"); then
  echo "not refused: banned phrases"
  exit 1
fi
places=$(sed -E 's/^([^ ]+) error: ("[^"]*").*/\1 \2/' <<<"$output" | sort)
expected='README.md:4: "tells"
configs/bad.json:2: "beside"
sim/bad.cpp:2: "cannot end"
sim/bad.cpp:4: "where there is none"'
[[ $places == "$expected" ]] || { echo "$output"; exit 1; }
