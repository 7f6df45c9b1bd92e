-- SPDX-License-Identifier: Apache-2.0
-- Reference of the functions other than primitives and the extension points of
-- search (plugins.lua).  Pages, the index and editors' stubs are generated from
-- these rows: call, result ("" for none), description, and a chapter of docs/.
local options = require "tessera.lang.options"
local declare = require "tessera.ops.declare"

local functions = {}

local rows = {
  -- Describing
  { "ts.placeholder(name, shape [, dtype [, options]])", "tessera.Buffer",
    "An input.", "describing" },
  { "ts.constant(name, tensor)", "tessera.Buffer",
    "A tensor whose values are part of the program.", "describing" },
  { "ts.size(name)", "tessera.Expr",
    "An extent that is known when a kernel is called.", "describing" },
  { "ts.reduce_axis(name, range)", "tessera.Expr",
    "What a reduction runs over: an extent, or { lo, extent }.",
    "describing" },
  { "ts.compute(name, shape, body)", "tessera.Buffer ...",
    "Tensors, each element as body says of its indices.", "describing" },
  { "ts.program(name, inputs, outputs)", "tessera.Program",
    "The program that makes the outputs of the inputs.", "describing" },
  { "ts.builder(name)", "tessera.Builder",
    "Describe a program by loops, blocks and stores.", "describing" },
  { "ts.load_program(path)", "tessera.Program",
    "Read what program:save wrote.", "describing" },
  { "ts.parse(text)", "tessera.Program",
    "Read what print(program) prints.", "describing" },
  { "expr:dtype()", "string", "Its type.", "tutorial" },
  { "ts.const(value, dtype)", "tessera.Expr",
    "A number of that type.", "describing" },
  { "ts.cast(x, dtype)", "tessera.Expr",
    "x as that type; integers saturate.", "describing" },
  { "ts.bit_cast(x, dtype)", "tessera.Expr",
    "The bits of x as a number of another type, of as many.", "describing" },
  { "ts.select(condition, yes, no)", "tessera.Expr",
    "One of two values; only that one is read.", "describing" },
  { "ts.call_extern(name, dtype, ...)", "tessera.Expr",
    "What a foreign function of the arguments gives.", "describing" },
  { "ts.sum(x, axes)", "tessera.Expr", "The sum over the axes.",
    "describing" },
  { "ts.prod(x, axes)", "tessera.Expr", "The product over the axes.",
    "tutorial" },
  { "ts.reduce_max(x, axes)", "tessera.Expr", "The greatest over the axes.",
    "tutorial" },
  { "ts.reduce_min(x, axes)", "tessera.Expr", "The least over the axes.",
    "tutorial" },
  { "ts.reducer(combine, identity [, name])", "function",
    "A reduction of one's own, called with sources and axes.",
    "describing" },
  { "ts.pow(x, y)", "tessera.Expr", "x to the power of y.", "describing" },
  { "ts.lt(x, y)", "tessera.Expr", "x < y.", "describing" },
  { "ts.le(x, y)", "tessera.Expr", "x <= y.", "describing" },
  { "ts.gt(x, y)", "tessera.Expr", "x > y.", "describing" },
  { "ts.ge(x, y)", "tessera.Expr", "x >= y.", "tutorial" },
  { "ts.eq(x, y)", "tessera.Expr", "x equals y.", "describing" },
  { "ts.ne(x, y)", "tessera.Expr", "x differs from y.", "describing" },
  { "ts.min(x, ...)", "tessera.Expr", "The least of them.", "describing" },
  { "ts.max(x, ...)", "tessera.Expr", "The greatest of them.",
    "describing" },
  { "ts.clamp(x, low, high)", "tessera.Expr",
    "x, but at least low and at most high.", "describing" },
  { "ts.shl(x, y)", "tessera.Expr", "x shifted left; the same as x << y.",
    "describing" },
  { "ts.shr(x, y)", "tessera.Expr",
    "x shifted right, with its sign; the same as x >> y.", "describing" },
  { "ts.bitand(x, y)", "tessera.Expr", "The bits of both; x & y.",
    "describing" },
  { "ts.bitor(x, y)", "tessera.Expr", "The bits of one or both; x | y.",
    "describing" },
  { "ts.bitxor(x, y)", "tessera.Expr", "The bits of just one; x ~ y.",
    "describing" },
  { "ts.bitnot(x)", "tessera.Expr", "The bits that x has not; ~x.",
    "describing" },
  { "ts.all(x, ...)", "tessera.Expr", "All conditions hold.", "describing" },
  { "ts.any(x, ...)", "tessera.Expr", "A condition holds.", "describing" },
  { "ts.land(x, ...)", "tessera.Expr", "The same as ts.all.", "tutorial" },
  { "ts.lor(x, ...)", "tessera.Expr", "The same as ts.any.", "tutorial" },
  { "ts.lnot(x)", "tessera.Expr", "The condition does not hold.",
    "tutorial" },
  { "builder:input(name, shape [, dtype [, scope]] [, options])",
    "tessera.Buffer",
    "A parameter that is read.", "describing" },
  { "builder:inout(name, shape [, dtype [, scope]])", "tessera.Buffer",
    "A parameter that is changed in place.", "describing" },
  { "builder:output(name, shape [, dtype [, scope]])", "tessera.Buffer",
    "A parameter that is written.", "describing" },
  { "builder:buffer(name, shape [, dtype [, scope]])", "tessera.Buffer",
    "A buffer of the program's own.", "describing" },
  { "builder:loop(name, lo, extent, body)", "",
    "A loop; body gets its variable.", "describing" },
  { "builder:block(name, iters [, options], body)", "",
    "A block; body gets its iteration variables.",
    "describing" },
  { "builder:init(body)", "", "What a reduction begins with.", "describing" },
  { "builder:when(condition, yes [, no])", "", "A condition.",
    "describing" },
  { "builder:let(name, value, body)", "", "A name for a value.",
    "describing" },
  { "builder:store(buffer, indices, value)", "", "A store.", "describing" },
  { "builder:evaluate(x)", "", "A value whose computing is what counts.",
    "describing" },
  { "builder:program()", "tessera.Program", "What was described.",
    "describing" },
  -- Templates: cfg is what template.space gives its function
  { "template.space(program, f)", "tessera.Space",
    "The space of a template, f(cfg, sch), of which cfg:define_split, " ..
    "cfg:define_knob, cfg:define_reorder and cfg:define_annotate make knobs.",
    "searching" },
  { "template.mold(mold)", "tessera.Space",
    "The space of a code mold { parameters =, forbid =, apply = }.",
    "searching" },
  { "cfg:define_split(name, loop [, options])", "table",
    "A knob: a loop is cut into parts of sampled lengths.", "searching" },
  { "cfg:define_knob(name, list [, options])", "table",
    "A knob: one value of a list.", "searching" },
  { "cfg:define_reorder(name, count [, options])", "table",
    "A knob: an order of loops.", "searching" },
  { "cfg:define_annotate(name, policy)", "table",
    "A knob: what becomes of a loop.", "searching" },
  { "knob:apply(loops)", "tessera.RV...",
    "Does to the loops what the knob of a template says.", "searching" },
  -- Programs
  { "program:name()", "string", "Its name.", "tutorial" },
  { "program:params()", "table[]",
    "Its parameters: name, dtype, shape and role of each.", "tutorial" },
  { "program:flops()", "integer?",
    "How many operations it does; nil where sizes, or data, decide.",
    "tutorial" },
  { "program:hash()", "string", "A hash of its structure.", "tutorial" },
  { "program:equal(other)", "boolean", "Is the other one the same?",
    "tutorial" },
  { "program:verify()", "boolean", "Raises unless it is well-formed.",
    "tutorial" },
  { "program:add(other)", "tessera.Program",
    "Gives the program the functions of another one.", "tutorial" },
  { "program:work_on(name)", "tessera.Program",
    "The program with that function as the one that is scheduled.",
    "tutorial" },
  { "program:save(path)", "", "Write it to a file.", "describing" },
  { "program:close()", "", "Free it before the collector does.",
    "tutorial" },
  -- Schedules
  { "ts.schedule(program [, options])", "tessera.Schedule",
    "Begin to schedule a program.", "tutorial" },
  { "sch:can(primitive, ...)", "boolean, string?",
    "Would the primitive accept these operands, and why not? A call that " ..
    "is wrong for any program raises.", "modules" },
  { "ts.auto", "tessera.Auto",
    "Among the factors of sch:split: what the others leave.", "tutorial" },
  { "sch:variable(name)", "tessera.Block | tessera.Loop | tessera.Int",
    "The variable that the trace prints so, as \"l6\".", "stepping" },
  { "sch:get(value)", "integer", "What a sampled integer is.", "tutorial" },
  { "sch:program()", "tessera.Program", "The program as it is now.",
    "tutorial" },
  { "sch:trace()", "tessera.Trace", "What was done so far.", "tutorial" },
  { "sch:target()", "tessera.Target?", "The target it was made for.",
    "modules" },
  { "sch:copy()", "tessera.Schedule",
    "Another schedule that knows the same variables.", "modules" },
  { "sch:close()", "", "Free it before the collector does.", "tutorial" },
  { "sch:is_spatial(block)", "boolean",
    "Are all its iters spatial?  false of the root.", "modules" },
  { "sch:is_reduction(block)", "boolean", "Does it reduce?", "modules" },
  { "sch:is_output(block)", "boolean", "Is what it writes an output?",
    "modules" },
  { "sch:reuses_in_reduction(block)", "boolean",
    "Does it read again, for other spatial iterations, what changes in " ..
    "the course of its reduction?", "modules" },
  { "sch:needs_multi_level_tiling(block)", "boolean",
    "Would tiling let it use again what it reads? Its loops must be those " ..
    "of its iters, one each and in their order.", "modules" },
  { "sch:block_info(block)", "table",
    "name, reads, writes, iters, loops (of each iter, the loop that alone " ..
    "binds it); has_select (is a value chosen by a condition?), has_call " ..
    "(of exp or the like?).", "modules" },
  { "sch:loop_info(loop)", "table", "name, kind, extent, iter_type.",
    "modules" },
  { "sch:extent(loop)", "integer", "How many iterations it has.",
    "modules" },
  { "sch:work(loop_or_block)", "integer?",
    "About how many operations and stores one run of it does; nil where " ..
    "sizes or data decide.", "modules" },
  { "sch:access(block, kind, index)", "boolean[]",
    'Which iters index what it accesses by "read" or "write".', "modules" },
  { "sch:access_info(block, kind, index)", "table",
    "buffer, scope, dtype, dims: by which iter each dimension is indexed " ..
    "(false: by anything else); shape: how long each is (false: not constant).",
    "modules" },
  { "sch:needs_rfactor(block, max_spatial [, min_reduce])", "boolean",
    "Would splitting its reduction itself pay, since it has few spatial " ..
    "iterations (at most max_spatial, where tiling suits it)?", "modules" },
  { "sch:factor(loop)", "tessera.Int?",
    "The sampled integer that was the loop's factor when it was split off.",
    "modules" },
  { "sch:footprint(block, kind, index [, loop])", "integer?",
    "How many elements of a buffer it can access in one iteration of the " ..
    "loop, or altogether; nil where that is not constant.", "modules" },
  { "sch:annotation(block_or_loop, key)", "string?",
    "The annotation as JSON.", "modules" },
  { "sch:stored_value(block)", "string?",
    "What its only store stores, as JSON: numbers, and lists of an " ..
    "operation and its operands, [\"max\", [\"load\", \"A\"], 0].",
    "modules" },
  -- Traces
  { "ts.trace.from_lua(text [, program])", "tessera.Trace",
    "Read what trace:lua wrote, without running it.", "tutorial" },
  { "ts.trace.from_json(text [, program])", "tessera.Trace",
    "Read what trace:json wrote.", "tutorial" },
  { "ts.trace.from_tvm_json(text [, program])", "tessera.Trace",
    "Read a trace of TVM's MetaSchedule.", "tutorial" },
  { "trace:lua([i])", "string", "The trace as Lua, or its instruction i.",
    "tutorial" },
  { "trace:json()", "string", "The trace as JSON.", "tutorial" },
  { "trace:to_tvm_json()", "string",
    "The trace as TVM writes it; what TVM cannot say is refused.",
    "tutorial" },
  { "trace:replay([program [, options]])", "tessera.Schedule",
    "Do it again.",
    "tutorial" },
  { "trace:bind(program)", "tessera.Trace",
    "Replay on this program where none is given.", "tutorial" },
  { "trace:with_decision(position, decision)", "tessera.Trace",
    "The trace with another decision there.", "tutorial" },
  { "trace:mutate([options])", "tessera.Trace",
    "The trace with one decision changed.", "tutorial" },
  { "trace:simplify()", "tessera.Trace",
    "The trace without what has no effect.", "tutorial" },
  { "trace:prefix(n)", "tessera.Trace", "Its first n instructions.",
    "stepping" },
  { "trace:equal(other)", "boolean", "Is the other one the same?",
    "tutorial" },
  { "trace:stepper([program])", "tessera.Stepper",
    "Go through it instruction by instruction.", "stepping" },
  { "trace:params()", "table",
    "The values that it names, by name, as they were decided: those of a " ..
    "template's knobs, a mold's parameters, sch:knob.", "searching" },
  { "result:params()", "table",
    "Those of the best; none where nothing valid was found.", "searching" },
  { "trace:decisions([program])", "table[]",
    "What is decided: `instruction`, `what` (\"tiles of i of C\"), `parts`, " ..
    "what each number is, `knob`, the name that it was given, `decision`; " ..
    "without a program, told by the instruction alone.", "searching" },
  { "trace:close()", "", "Free it before the collector does.", "tutorial" },
  -- Stepping
  { "stepper:next()", "boolean",
    "Do the next instruction; false at the end. One that does not apply is " ..
    "an error.", "stepping" },
  { "stepper:back()", "boolean",
    "Undo the last instruction; false at the start.", "stepping" },
  { "stepper:goto_(position)", "",
    "Stand after that instruction; 0 is before the first.", "stepping" },
  { "stepper:position()", "integer",
    "The instruction it stands after.", "stepping" },
  { "stepper:size()", "integer",
    "How many instructions there are; #stepper is the same.", "stepping" },
  { "stepper:instruction()", "string",
    "The instruction it stands after, as Lua.", "stepping" },
  { "stepper:program()", "tessera.Program", "The program as it stands.",
    "stepping" },
  { "stepper:diff()", "string",
    "The same, with what that instruction changed marked by * and what went " ..
    "away below.", "stepping" },
  { "stepper:origins()", "table[]",
    "What each instruction so far did to the lines of the program: line, " ..
    "instruction, and effect, \"made\", \"changed\" or \"moved\".",
    "stepping" },
  { "stepper:why([what])", "table[]",
    "The lines that `what` is the number of, or a part of, or all: line, " ..
    "text, and origins, of which each has instruction, effect, name, text " ..
    "and place, the file and line that asked for it.", "stepping" },
  { "stepper:whynot(primitive, ...)", "table?",
    "What holds the primitive back here, with variables given by name: " ..
    "message, and instead, other variables (other, what it stands for, " ..
    "given, operand) with which it would apply; nil where it applies.",
    "stepping" },
  { "stepper:bisect(good)", "integer?",
    "The first instruction behind which good(program) is false, if it never " ..
    "holds again; nil where it holds at the end, 0 where it does not before " ..
    "the first either.", "stepping" },
  { "stepper:blame([options])", "table[]",
    "What decisions cost: for each the best of some alternatives, as " ..
    "instruction, name, what, decision, alternative, ratio, low and high, " ..
    "its time by that of the trace as it is; those that save most first. " ..
    "Options: time(program), in seconds, alternatives and rounds.",
    "stepping" },
  { "stepper:html([options])", "string",
    "A page that steps through the trace, one file that needs no network: " ..
    "the program after each instruction, decisions and what else they could " ..
    "be. Options: title; database and record, the number of the record " ..
    "whose trace it is, for the times of those that differ in one decision; " ..
    "times: the program is timed after each instruction.", "stepping" },
  { "stepper:decision()", "integer[]?",
    "The decision of that instruction; nil where it takes none.",
    "stepping" },
  { "stepper:alternatives([max])", "table[], integer",
    "What the decision could be, decision and probability of each, and how " ..
    "many there are in all; max is 64 if left out.", "stepping" },
  { "stepper:decide(decision)", "boolean, integer?, string?",
    "Change the decision and replay what follows; false, the first " ..
    "instruction that no longer applies, and why not, where one does not. " ..
    "A decision that does not fit is an error and changes nothing.",
    "stepping" },
  { "stepper:trace()", "tessera.Trace",
    "The trace with the decisions as they are now.", "stepping" },
  { "stepper:close()", "", "Free it before the collector does.",
    "tutorial" },
  -- Running
  { "ts.target([text])", "tessera.Target",
    "A machine; this one where no text is given.", "describing" },
  { "target:get(field)", "integer?",
    'A number of it, as "num-cores"; nil for one that only other kinds of ' ..
    "targets have.", "describing" },
  { "target:has(feature)", "boolean",
    'Has its processor the feature? Of a CUDA card "sm_80" is one: that ' ..
    "architecture or a later one.", "describing" },
  { "target:close()", "", "Free it before the collector does.",
    "tutorial" },
  { "ts.build(program [, target])", "tessera.Kernel",
    "Compile a program or schedule; the kernel is called with tensors.",
    "tutorial" },
  { "kernel:time(tensors [, options])", "table",
    "Run it some times: median, min, mean, stddev in seconds.", "tutorial" },
  { "kernel:source([kind])", "string", "The code that was made.",
    "describing" },
  { "kernel:save(path [, header])", "",
    "Save it as an object, NAME.o, or by the system's `cc` as a shared " ..
    "library, NAME.so, with a C header; or, for any target, as NAME.kernel " ..
    "for ts.load_kernel.", "embedding" },
  { "ts.load_kernel(path)", "tessera.Kernel",
    "Read what kernel:save wrote as NAME.kernel.", "gpu" },
  { "kernel:close()", "", "Free it before the collector does.", "tutorial" },
  { "ts.interpret(program, tensors)", "",
    "Run a program or schedule slowly and exactly.", "tutorial" },
  { "ts.equivalent(a, b [, options])", "boolean, string?",
    "Do two programs or schedules compute the same, and where not? What " ..
    "cannot be run at all is an error.", "describing" },
  { "ts.lower(program [, options])", "tessera.Program",
    "A program or schedule after the lowering passes up to `after`, for a " ..
    "`target`, with or without `threads`; by default what a device with " ..
    "threads runs, before buffers are flattened.", "adding-a-pass" },
  { "ts.lower_passes()", "table[]",
    "The lowering passes in order: name, summary, number.",
    "adding-a-pass" },
  { "ts.lower_pass(name)", "table?",
    "The lowering pass of that name, or that is TVM's of that name.",
    "adding-a-pass" },
  { "ts.tensor_intrin(intrin)", "string",
    "Register an intrinsic for sch:tensorize: name, desc, impl, override.",
    "tensor-intrinsics" },
  { "ts.tensor(dtype, shape [, fill [, seed]] [, options])", "tessera.Tensor",
    'Memory for a kernel: "zeros", "random" and the like, a nested table, ' ..
    "or a .npy file; a number where the shape is {}. Options: device, as " ..
    '"opencl:0".', "tutorial" },
  { "tensor:get(...)", "number", "The element; indices count from 0.",
    "tutorial" },
  { "tensor:set(...)", "", "Indices, then the new value.", "tutorial" },
  { "tensor:copy_from(other)", "", "Take over all elements.", "tutorial" },
  { "tensor:to(device)", "tessera.Tensor",
    "A copy in the memory of a device, as opencl:0, or cpu.", "gpu" },
  { "tensor:device()", "string", "Where it is: cpu, opencl:0, cuda:0.", "gpu" },
  { "tensor:compare(other)", "number, number",
    "The greatest absolute and relative difference.", "tutorial" },
  { "tensor:shape()", "integer[]", "Its extents.", "tutorial" },
  { "tensor:dtype()", "string", "Its type.", "tutorial" },
  { "tensor:save(path)", "", "Write a .npy file.", "tutorial" },
  { "tensor:close()", "", "Free it before the collector does.", "tutorial" },
  -- Searching
  { "ts.tune(program, options)", "tessera.Result",
    "Search for a fast schedule; `tessera doc` lists the options, " ..
    "`tessera doc result` what is in what it gives.",
    "tutorial" },
  { "ts.tune_tasks(tasks, options)", "tessera.Results",
    "Search for fast schedules of several programs under one budget: of a " ..
    "list of programs or of { program =, weight =, space =, name =, " ..
    "strategy =, cost_model = }; the options of ts.tune, and", "tasks" },
  { "ts.graph([name])", "tessera.Graph",
    "An empty graph of operators; `require \"tessera.graph\"` gives graphs " ..
    "their operators.", "models" },
  { "graph:input(name, shape [, dtype])", "tessera.Value",
    "An input; a dimension is an extent, or the name of a size.", "models" },
  { "graph:constant(name, tensor)", "tessera.Value",
    "A constant, which keeps the tensor.", "models" },
  { "graph:output(name, value)", "", "Makes a value an output.", "models" },
  { "graph:inputs()", "table[]", "The values that are inputs.", "models" },
  { "graph:outputs()", "table[]",
    "The values that are outputs, and the list of their names.", "models" },
  { "graph:nodes()", "table[]",
    "Its nodes, each { id =, op =, name =, inputs =, outputs =, attrs =, " ..
    "group = }.", "models" },
  { "graph:dot()", "string", "A drawing in Graphviz's language.", "models" },
  { "graph.model(graph [, options])", "table",
    "A model that runs, of a graph (require \"tessera.graph\").", "models" },
  { "graph.run(graph, inputs)", "table[], table",
    "Runs it node by node, unscheduled: outputs, and all values by number.",
    "models" },
  { "model:run(inputs)", "tessera.Tensor ...",
    "The outputs, of inputs in order or by name.", "models" },
  { "model:times(inputs [, runs])", "table[]",
    "Each kernel, { name =, seconds = }, the least of 5 runs.", "models" },
  { "ts.model(from [, options])", "table",
    "A model that runs, of an ONNX file or a graph: the options shapes and " ..
    "values (of a file), after and without (of passes), and target, " ..
    "database, trials, deadline and others of ts.tune_tasks.", "models" },
  { "model:save(path [, header])", "",
    "Write it as a shared library that needs nothing of Tessera.", "models" },
  { "model:memory()", "table",
    "Bytes: arena, bound, sum, converted; and the number of kernels.",
    "models" },
  { "graph:verify()", "boolean", "Raises unless it is well-formed.", "models" },
  { "ts.read_onnx(path)", "tessera.Graph",
    "The graph of an ONNX file as it is there, of operators `onnx.NAME`; " ..
    "`require \"tessera.graph.onnx\"` has `onnx.read`, which gives one of " ..
    "Tessera's operators.", "models" },
  { "graph:branch(node, attribute)", "tessera.Graph",
    "The graph that an attribute of a node is, as a branch of an If.",
    "models" },
  { "ts.agent(options)", "nil",
    "Measure for a fleet until it is drained or stopped (Ctrl-C, SIGTERM): " ..
    "`tessera agent` as a function.  The options are fleet and key, and " ..
    "name, role, target, cores, device, share_cores, poll, sign, trust, " ..
    "via and runner as the command has them, and say, a function that is " ..
    "told of events, a line each.",
    "fleet" },
  { "ts.fleet(address, command [, arguments])", "string",
    "Steer a fleet, as `tessera fleet` does; arguments and answer are JSON " ..
    "(tess_fleet_call in the C header lists the commands).", "fleet" },
  { "ts.database(path [, options])", "tessera.Database",
    "Open a database of records, which is made where there is none; " ..
    "{ readonly = true }: for reading only, beside what stores in it.",
    "tutorial" },
  { "database:records([filter])", "tessera.Record[]",
    "Its records, best first, or those of { program =, workload = NAME, " ..
    "target =, policy =, checked = true, failed = true, before = " ..
    '"2026-01-31", other_than = sketches, limit = 100 }; a number is the ' ..
    "limit.  The list's field total says how many there are.  `tessera doc " ..
    "record` lists their fields.", "tutorial" },
  { "database:best(program [, target [, options]])",
    "tessera.Record?, tessera.Trace|string",
    'The fastest record of a program for a target ("llvm": this machine) ' ..
    "whose results were compared, and its trace; or nil and why.  Measured " ..
    "ones on drawn inputs, and of several policies those of the newest; or " ..
    "{ policy = TEXT }, { inputs = TENSORS }, { measure = true or NAME }.",
    "database" },
  { "database:trace(id)", "tessera.Trace",
    "The trace of a record, bound to its program.", "tutorial" },
  { "record:params()", "table",
    "The values that its trace names, as trace:params() gives them.",
    "database" },
  { "database:add(trace, target, policy, samples)", "",
    "Store a success that was measured elsewhere: a bound trace, a target " ..
    "or its text, which is completed, how it was measured, in any words, " ..
    "and times in seconds.", "database" },
  { "database:groups([filter])", "table[]",
    "What there is of each workload, target and policy: hash, workload, " ..
    "target, policy, shapes, count, failed, best, the number of the fastest " ..
    "record that was compared, and seconds, its time.  The filter is that " ..
    "of database:records without limit.", "database" },
  { "database:runs()", "table[]",
    "The runs that made the records, oldest first: id, hash, target, " ..
    "policy, strategy, model, seed, batch, started_at, ended, seconds, " ..
    "funnel, ledger, quality, and transfer, whether other workloads' " ..
    "records might teach it (nil: not known).", "database" },
  { "database:verify()", "string[]",
    "Look for damaged pages and workloads, and for impossible values in any " ..
    "column; a line for each, none where all is well.  Whether records " ..
    "replay database:trace tells.", "database" },
  { "database:merge(path)", "integer",
    "Add the records of another file; how many were new.", "database" },
  { "database:prune(keep)", "integer",
    "Keep the best so many of each workload, target and policy; how many " ..
    "were removed.  A table removes those that a filter as of " ..
    "database:records lets by, except for the best `keep`: { keep = 3, " ..
    "target =, before =, dry_run = true } (which only counts them).",
    "database" },
  { "database:export(path)", "", "Write everything as JSON lines.",
    "database" },
  { "database:import(path)", "integer",
    "Add the records of such a file; how many were new.", "database" },
  { "ts.write_file(path, text)", "",
    "Replace what a file holds, at once; a database is refused.",
    "database" },
  { "ts.same_file(a, b)", "boolean",
    "Do two paths lead to one file that is there?", "database" },
  { "database:close()", "", "Close it before the collector does.",
    "tutorial" },
  { "ts.module(module)", "table",
    "Check a schedule module: name, parameters, apply, check.", "modules" },
  { "ts.space.compose(modules)", "tessera.Space",
    "The space that the modules make, one after the other.", "modules" },
  { "ts.space.by_hand(schedule)", "tessera.Space",
    "The space of one function of a schedule.", "modules" },
  { "ts.space.traces(traces)", "tessera.Space",
    "The space of sketches that are there already, at most 256.", "modules" },
  { "ts.space.union(spaces)", "tessera.Space", "All of several spaces.",
    "modules" },
  { "ts.space.default([target])", "tessera.Space",
    "The space that ts.tune searches when none is given.", "modules" },
  { "ts.space.with_postprocs(space, list)", "tessera.Space",
    "The sketches of a space, with these postprocessors when it is tuned: " ..
    "names, and tables { name, parameter = value }.", "modules" },
  { "ts.space.sketches(space, program [, target [, options]])",
    "tessera.Trace[]", "The sketches of a program, at most 256: an error, " ..
    "LIMIT, where the space has more, which ts.tune takes up to 4096.",
    "modules" },
  { "ts.space.explain(space, program [, target [, options]])", "string",
    "Which module was applied where, or why not, in a line a module.",
    "modules" },
  { "ts.space.check(space, program [, target])", "boolean, string?",
    "Do its modules make the same sketches each time, and where not?  And " ..
    "what do they sample that nothing reads?", "modules" },
  { "space:sketches(program [, target])", "tessera.Trace[]",
    "The same as ts.space.sketches.", "modules" },
  { "space:explain(program [, target [, options]])", "string",
    "The same as ts.space.explain.", "modules" },
  { "space:close()", "", "Free it before the collector does.", "tutorial" },
  -- Asking
  { "ts.primitives()", "table[]", "name and summary of each primitive.",
    "tutorial" },
  { "ts.doc([primitive])", "string", "The reference as Markdown.",
    "tutorial" },
  { "ts.stubs()", "string", "Declarations of the primitives for editors.",
    "embedding" },
  { "ts.version()", "string, string", "The version, and how it was built.",
    "tutorial" },
  { "ts.build_options()", "table<string, string>",
    "How it was built, by name: llvm, compiler, checked, libdir, ..",
    "embedding" },
  { "ts.on_warning(f)", "function?",
    "Let warnings go to a function; gives the one before.", "modules" },
  -- require "tessera.ops", besides the operators
  { "ops.suite(name, index)", "tessera.Program, string, table",
    "A workload of the operator suite, and which operator with which " ..
    "options it is; of require \"tessera.ops\".", "operators" },
  { "ops.suite_names()", "string[]", "The names that ops.suite takes.",
    "operators" },
  { "ops.polybench(name, size)", "tessera.Program",
    "A kernel of PolyBench at one of its dataset sizes.", "operators" },
  -- require "tessera.intrin"
  { "intrin.use(name)", "string",
    "Declare a tensor intrinsic; its name, for sch:tensorize. Of require " ..
    "\"tessera.intrin\", as those below.", "tensor-intrinsics" },
  { "intrin.names([family])", "string[]",
    'The names of all, or of a family: "vectors", "x86", "arm", "wmma", ' ..
    '"mma", "dae".', "tensor-intrinsics" },
  { "intrin.of_machine(machine)", "string",
    "Declare that of an access-execute machine's table; its name.", "dae" },
  { "intrin.description(name)", "tessera.Program", "What it computes.",
    "tensor-intrinsics" },
  { "intrin.info(name)", "table",
    "Its family, summary and needs: features of the target.",
    "tensor-intrinsics" },
  { "intrin.has(name [, target])", "boolean",
    "Whether the target has what it needs.", "tensor-intrinsics" },
  { "intrin.dot(target, types)", "string?, string?",
    'The best dot product of bytes, "u8s8", "s8s8" or "u8u8", declared; nil ' ..
    "and why there is none.", "tensor-intrinsics" },
  -- require "tessera.tensor"
  { "tensor.mma(options)", "string",
    "An intrinsic, C[m, n] += A[m, k] * B[k, n] by vectors; of require " ..
    "\"tessera.tensor\", as those below.", "tensor-intrinsics" },
  { "tensor.dot_16x4([target])", "string",
    "An intrinsic, int32[16] += uint8[4] . int8[16, 4].",
    "tensor-intrinsics" },
  { "tensor.wmma(name)", "string",
    "An intrinsic of a warp's fragments.", "tensor-intrinsics" },
  { "tensor.wmma_names()", "string[]", "The names that tensor.wmma takes.",
    "tensor-intrinsics" },
  { "tensor.tile(sch, block, sizes)", "tessera.Loop?, string?",
    "Split the last loops into tiles; the first loop of a tile, or nil and " ..
    "why not.", "tensor-intrinsics" },
  { "tensor.mapping(sch, block, name [, desc])", "table?, string?",
    "Which iters of the block are which of the intrinsic's.",
    "tensor-intrinsics" },
  { "tensor.inner(sch, block, name [, desc])", "tessera.Loop?, string?",
    "Tiles of its extents of the innermost iters alone, as a blocked layout " ..
    "has them; no buffer is copied.", "tensor-intrinsics" },
  { "tensor.fit(sch, block, name [, desc])", "tessera.Loop?, string?",
    "Make the block one that the intrinsic can do.", "tensor-intrinsics" },
  { "tensor.auto(sch, block, name [, desc])", "boolean?, string?",
    "Fit the block, decompose its reduction and tensorize it.",
    "tensor-intrinsics" },
}

-- Functions of one number.
for _, f in ipairs {
  { "abs", "The absolute value." }, { "ceil", "The least integer above." },
  { "floor", "The greatest integer below." },
  { "round", "The nearest integer, halves to even." },
  { "sqrt", "The square root." }, { "rsqrt", "One by the square root." },
  { "exp", "e to the power of x." },
  { "expm1", "exp(x) - 1, which keeps the digits of small x." },
  { "log", "The natural logarithm." },
  { "log1p", "log(1 + x), which keeps the digits of small x." },
  { "sin", "The sine of x radians." }, { "cos", "The cosine of x radians." },
  { "tan", "The tangent of x radians." },
  { "asin", "The angle in radians whose sine is x." },
  { "acos", "The angle in radians whose cosine is x." },
  { "atan", "The angle in radians whose tangent is x." },
  { "sinh", "The hyperbolic sine." }, { "cosh", "The hyperbolic cosine." },
  { "tanh", "The hyperbolic tangent." },
  { "asinh", "The inverse of sinh." }, { "acosh", "The inverse of cosh." },
  { "atanh", "The inverse of tanh." },
  { "sigmoid", "1 / (1 + exp(-x))." }, { "erf", "The error function." },
  { "erfc", "1 - erf(x), which keeps its digits where erf(x) is nearly 1." },
} do
  rows[#rows + 1] = { ("ts.%s(x)"):format(f[1]), "tessera.Expr", f[2],
                      "describing" }
end

local function name_of(row) return row[1]:match("^[^(]+") end

-- "- `pad`: rows and columns of zeros; integer, 0 if left out".
local function option_line(o)
  return ("- `%s`: %s; %s%s"):format(o.name, o.help, o.type,
         o.default and ", " .. o.default .. " if left out" or "")
end

-- `brief`: without the run of the example.
local function page(row, brief)
  local lines = { "## " .. row[1], "", row[3], "" }
  for line in (row.says or ""):gmatch "[^\n]+" do
    lines[#lines + 1] = "    " .. line
  end
  if row.says then lines[#lines + 1] = "" end
  if row[2] ~= "" then
    lines[#lines + 1] = ("- returns `%s`"):format(row[2])
  end
  if row.on_tensors then
    lines[#lines + 1] = ("- on tensors: `%s`"):format(row.on_tensors)
  end
  for _, o in ipairs(options.of[name_of(row)] or {}) do
    lines[#lines + 1] = option_line(o)
  end
  lines[#lines + 1] = ("- more in docs/%s.md"):format(row[4])
  if row.example and not brief then
    lines[#lines + 1] = "\n" .. row.example()
  end
  return table.concat(lines, "\n")
end

-- ---- operators -------------------------------------------------------------

-- What a piece of Lua prints.
local function printed(text, name)
  local lines = {}
  local env = setmetatable({
    print = function(...)
      local parts = table.pack(...)
      for i = 1, parts.n do parts[i] = tostring(parts[i]) end
      lines[#lines + 1] = table.concat(parts, " ") .. "\n"
    end,
  }, { __index = _G })
  assert(load(text, "=" .. name, "t", env))()
  return table.concat(lines)
end

-- An operator's example, and what it prints when it is run here and now.
local function shown_example(o)
  local text = declare.example(o)
  return ("```lua\n%s```\n\nprints\n\n```output\n%s```"):format(text,
         printed(text, o.name))
end

-- The rows of operators; their families are only loaded when asked for.
local function operators()
  require "tessera.ops"
  local list = {}
  for i, o in ipairs(declare.list) do
    list[i] = { ("ops.%s(options)"):format(o.name), "tessera.Program",
                o.summary, "operators", says = o.says,
                on_tensors = declare.call(o),
                example = function() return shown_example(o) end }
  end
  return list
end

local function entries_of(of)
  local list = {}
  for i, row in ipairs(of) do
    list[i] = { name = name_of(row), call = row[1], summary = row[3],
                page = function(brief) return page(row, brief) end }
  end
  return list
end

-- What an index has of each: { name =, call =, summary =, page = a function }.
function functions.entries() return entries_of(rows) end
function functions.operators() return entries_of(operators()) end

-- ---- stubs -----------------------------------------------------------------

local function add_stub(lines, row)
  local name = name_of(row):gsub("^%l+:", function(object)
    return object == "sch:" and "Schedule:" or object:gsub("^%l", string.upper)
  end)
  lines[#lines + 1] = "\n---" .. row[3]
  local call = row[1]:match("%b()")
  if not call then
    lines[#lines + 1] = ("---@type %s\n%s = nil"):format(row[2], name)
    return
  end
  local names = {}
  for n in call:gsub("[][()]", ""):gmatch("[^,%s]+") do
    names[#names + 1] = n
  end
  local fields = {}
  for i, o in ipairs(options.of[name_of(row)] or {}) do
    fields[i] = o.name .. (o.default and "?: " or ": ") .. o.type
  end
  if #fields > 0 then
    lines[#lines + 1] = ("---@param options { %s }"):format(
                          table.concat(fields, ", "))
  end
  if row[2] ~= "" then lines[#lines + 1] = "---@return " .. row[2] end
  lines[#lines + 1] = ("function %s(%s) end"):format(name,
                                                     table.concat(names, ", "))
end

-- Declarations for the Lua language server, behind those of the classes and of
-- `ts`.
function functions.stubs()
  local lines = { "ts.trace, ts.space = {}, {}",
                  "local ops, intrin, tensor = {}, {}, {}" }
  for _, row in ipairs(rows) do add_stub(lines, row) end
  for _, row in ipairs(operators()) do add_stub(lines, row) end
  return table.concat(lines, "\n") .. "\n"
end

return functions
