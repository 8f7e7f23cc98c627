# Tests of more than 3 s: label `long` instead of `fast`, so that `ctest -L fast` takes less than two minutes.
# Included with the tests that an executable has in `discovered`; a name without a test is an error of the test
# `long_tests`.
set(long_tests
  [==[tests_app:a step reports what it is doing, and how much of the simulation is done]==]
  [==[tests_app:a job alone takes what its step takes, and others on links of their own change nothing]==]
  [==[tests_app:a link's figure with a factor is the cluster's key with that value]==]
  [==[tests_app:at any value inside a range the step is what its slope predicts]==]
  [==[tests_app:spaces: the fewest nodes that meet a date]==]
  [==[tests_bounds:no time is below its bound on random graphs of unequal nodes, damaged or not]==]
  [==[tests_bounds:no time is below its bound on shipped clusters, damaged or not]==]
  [==[tests_cli:16,384 ranks of 16 stages are simulated, of a straggler's step one of each kind]==]
  [==[tests_cli:run --job says how much jobs slow each other down, and where]==]
  [==[tests_cli:README and docs show what their commands print]==]
  [==[tests_cli:a killed search goes on from its store to the same bytes, simulating nothing twice]==]
  [==[tests_cli:a page weighs at most 700 KB without its script, and says what it leaves out]==]
  [==[tests_cli:a store that is locked, cut short or no database is refused and not touched]==]
  [==[tests_cli:a straggler and a slow NIC among 512 GPUs: nodes that follow each other end as alone]==]
  [==[tests_cli:every help names its command in full and has two examples that run]==]
  [==[tests_cli:every other command of README and docs ends as it says]==]
  [==[tests_cli:every shipped cluster gives the times that it gave before]==]
  [==[tests_cli:merged shards are the search in one piece, in any order and grouping]==]
  [==[tests_cli:no algorithm makes a wrong element at odd numbers of ranks]==]
  [==[tests_cli:no line of any table is wider than a terminal of 80 columns]==]
  [==[tests_cli:random clusters of nodes that differ in size play every collective]==]
  [==[tests_cli:rounds and bytes of a schedule too large to be walked are counted by classes]==]
  [==[tests_device:every shipped scenario trains as one device does when devices run its layout]==]
  [==[tests_models:gradients of what families differ in are those of the loss]==]
  [==[tests_plan:and where there is more than a team takes at a time]==]
  [==[tests_planner:a search finds what simulating every point finds: context parallelism and rank orders]==]
  [==[tests_sim:endpoints that follow a record end at the same picosecond as replayed ones]==]
  [==[tests_sim:the same where large components merge]==]
  [==[tests_step_bound:no step is below its bounds: diffusion transformers]==]
  [==[tests_step_bound:no step is below its bounds: models whose kernels are long, part 1 of 2]==]
  [==[tests_step_bound:no step is below its bounds: models whose kernels are long, part 2 of 2]==]
  [==[tests_step_bound:no step is below its bounds: models whose kernels are short, part 1 of 2]==]
  [==[tests_step_bound:no step is below its bounds: models whose kernels are short, part 2 of 2]==]
  [==[tests_step_numbers:every collective algorithm trains as one device does]==]
  [==[tests_step_numbers:features of families compute what one device does, however the model is cut]==]
  [==[tests_step_numbers:modules of a plain layer that are done again compute what one device does]==]
  [==[tests_step_numbers:modules of latent attention and experts done again compute what one device does]==]
  [==[tests_step_numbers:random layouts compute what one device does]==]
  [==[tests_step_numbers:so they do where operands of GEMMs are kept as cast]==]
  [==[tests_step_program:a value is reported to be without effect where the program is the same without it, only there]==]
  [==[tests_step_shown:scenarios: time, memory, GPUs and links of all of them are possible]==]
  [==[tests_strategies:a replay's memory is known before it is taken]==]
  [==[tests_strategies:every schedule leaves every contribution where it belongs, exactly once]==]
  [==[tests_strategies:folded and unfolded replays of pipelines of many chunks give the same instants]==]
  [==[tests_strategies:ranks one by one and the plain replay give the same instants and bytes]==]
  [==[tests_verification:Muon in random layouts trains as one device does, and runs as simulated]==]
  [==[tests_verification:a gradient of nothing but rounding is no difference, whatever Adam makes of it]==]
  [==[tests_verification:random layouts of experts with a capacity train as one device does]==]
  [==[tests_verification:random layouts train as one device does, and run as simulated]==]
)
foreach(name IN LISTS discovered)
  list(FIND long_tests "${name}" at)  # CTest has no IN_LIST here
  if(at EQUAL -1)
    set_tests_properties("${name}" PROPERTIES LABELS fast)
  else()
    set_tests_properties("${name}" PROPERTIES LABELS long COST 10)  # begun before shorter ones
  endif()
endforeach()
