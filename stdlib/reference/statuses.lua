-- SPDX-License-Identifier: Apache-2.0
-- Reference of statuses (e.code, result.status, classes of measurements), of
-- what refuses a candidate beside a primitive (e.reason, the funnel), and of
-- the funnel's lines.
local statuses = {}

-- { NAME, what happened, what to do }
local codes = {
  { "OK", "It worked" },
  { "REFUSED", "A schedule step does not apply to the program as it stands",
    "`e.primitive` and `e.reason` name the rule; `tessera doc REASON` shows " ..
    "it, and `--verbose` the program with the place marked" },
  { "INVALID", "An argument is impossible, whatever the program",
    "The message names it and what it must be" },
  { "NOT_FOUND", "There is nothing of that name, or no candidate was valid",
    "Of a search, `result.note` says how the first failed, and " ..
    "`result.funnel` what became of all" },
  { "PARSE", "A text or file is malformed",
    "The message says where" },
  { "TYPE", "An argument is of another type, or a tensor of another shape" },
  { "UNSUPPORTED", "It is meaningful, but not implemented, or not possible " ..
    "on this machine or for this target" },
  { "NOMEM", "Memory ran out" },
  { "LIMIT", "A documented limit, or a memory cap, was reached",
    "The limits are in docs/describing.md" },
  { "IO", "A file or a database could not be read or written" },
  { "DEAD", "The block or loop was removed or replaced by an earlier step",
    "The message names that step; ask for the block or loops again" },
  { "MISMATCH", "Two programs give different results",
    "The message says where they differ first" },
  { "RACE", "Iterations that run concurrently access one element, and one " ..
    "of them writes it" },
  { "BOUNDS", "An index leaves its buffer, or a binding its domain" },
  { "BUILD_ERROR", "The candidate could not be compiled",
    "`tessera db FILE --verbose` has the compiler's message" },
  { "LAUNCH_ERROR", "The compiled kernel could not be loaded or launched" },
  { "TIMEOUT", "A candidate ran longer than `timeout`, or compiled longer " ..
    "than 15 seconds" },
  { "CRASHED", "The kernel ended its process: a signal, or an access beside " ..
    "its tensors",
    "Where indices are data, declare what they hold, or give `inputs` " ..
    "(docs/describing.md)" },
  { "WRONG_RESULT", "The kernel's outputs differ from those of the " ..
    "unscheduled program",
    "It is a fault of Tessera's, or of an external function: please report " ..
    "it with the trace" },
  { "INFRA", "Measuring failed for a reason that is not the candidate's: " ..
    "the worker, the reference, the machine" },
  { "CANCELLED", "It was interrupted: Ctrl-C, a signal, tess_stop, or a " ..
    "deadline" },
  { "CALLBACK", "A function of yours that the engine called failed; the " ..
    "error is its" },
  { "INTERNAL", "A fault of Tessera's",
    "Please report it with the trace and the program" },
  { "UNWRITTEN", "An element is read before anything was written to it" },
}

-- What stops a trace beside its primitives' own rules: in the funnel "refused
-- by PRIMITIVE: NAME".
local reasons = {
  { "MISSING", "an operand is missing" },
  { "WRONG_KIND", "an operand is of another kind than its declaration says" },
  { "NO_VARIABLE", "an operand is a random variable that no instruction made" },
  { "WRONG_VARIABLE", "an operand is a block where a loop is wanted, or the " ..
    "like" },
  { "TEXT", "an operand is text with zero bytes or that is not UTF-8" },
  { "NOT_A_NUMBER", "an operand is nan" },
  { "NO_DTYPE", "an operand names no data type" },
  { "NO_MAP", "an operand is no index map" },
  { "REPEATED_KEY", "an operand has a key twice" },
  { "TOO_DEEP", "an operand is nested too deeply" },
  { "TOO_LARGE", "an operand has too many elements" },
  { "DEAD", "an operand is a block or loop that an earlier step removed" },
  { "OVERFLOW", "arithmetic on sampled values leaves 64 bits" },
  { "ZERO_DIVISION", "arithmetic on sampled values divides by zero" },
  { "MARK", "a loop is the mark that stands for no place: a sampled " ..
    "location said to leave a block at the root, or to inline it" },
  { "MANY_OUTPUTS", "another number of results is named than a step gives" },
  { "OTHER_OUTPUTS", "a step gives another number of results than the " ..
    "trace has: as loops around a block, behind a sampled location, or " ..
    "where sampled sizes of 1 left loops out",
    "`preserve_unit_loops = true` of compute_at and reverse_compute_at " ..
    "keeps loops of one iteration; a location is drawn in the last module " ..
    "that looks at loops (docs/modules.md)" },
  { "NOT_SAMPLING", "a decision is given to an instruction that takes none" },
  { "NOT_BEGUN", "nothing has been run yet" },
  { "OPEN", "a sampling instruction has no decision" },
  { "FEW_DECISIONS", "a vector of decisions is too short for the sketch" },
  { "MANY_DECISIONS", "a vector of decisions is too long for the sketch" },
  { "NOT_ONE", "a decision that is one number has several" },
  { "UNFIT", "a decision does not fit the loops as they are: factors whose " ..
    "product is another, an index among fewer candidates" },
  { "NO_SUCH_NUMBER", "an enumeration of a space went past a decision's last" },
  { "NO_NEIGHBOUR", "a mutation found no other decision" },
  { "NO_DECISIONS", "there is no decision that could be changed" },
  { "NESTING", "statements would nest deeper than the limit" },
  { "DEPTH", "expressions would nest deeper than the limit" },
  { "GROWTH", "one step would make too many expressions" },
  { "BROKEN", "a step left a malformed program: a fault of Tessera's" },
  { "GUARD_DIFFERS", "a sampled value that a module read, and made its " ..
    "sketch by, is another one in this replay" },
  { "GUARD_SAME_DIFFERS", "two loops or blocks that a module compared, and " ..
    "made its sketch for the answer, are the same now and were not, or are " ..
    "not and were: another sketch is for this one" },
  { "MEMORY_CAP", "the candidate's program outgrew the memory of a worker " ..
    "of the search" },
}

-- In the funnel "rejected by NAME".
local postprocessors = {
  { "static_loops", "a loop's extent is not a constant, while all extents " ..
    "of the described program are" },
  { "vector_lanes", "a vectorised loop has more than 1024 lanes: split it" },
}

local lines = [[## funnel: what became of what a run drew

- `candidates tried`: sketches with decisions that were replayed; the next
  four kinds of lines add up to it
- `refused by PRIMITIVE: REASON`: a step of the sketch does not apply with these
  decisions; `tessera doc REASON`
- `rejected by POSTPROCESSOR: ...`: the finished program breaks a limit;
  `tessera doc static_loops`, `tessera doc vector_lanes`; of those that end
  a sketch, as verify_gpu_code, `tessera doc REASON`
- `have no neighbour`: a mutation found no other decision
- `valid`: the rest; the lines after it add up to it
- `valid, but duplicates`: proposed or measured before
- `valid, but equal to a measured program`: other decisions gave the program
  before; it has that one's result, and is no trial
- `measured: CLASS`: each class with the first message of it
- `valid, but not measured`: the cost model ranked others above them, or the
  run ended first
- `proposed by the strategy`: of a strategy of yours what it proposed, which
  then has duplicates, invalid ones (`proposed, but ...`), measured ones, and
  what was not measured]]

local function entry(kind, row)
  local name, what, way = table.unpack(row)
  local sentence = what:gsub("^%l", string.upper)
  return { name = name, summary = what, page = function()
    return ("## %s %s\n\n%s.%s"):format(kind, name, sentence,
                                        way and " " .. way .. "." or "")
  end }
end

local function entries_of(kind, rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = entry(kind, row) end
  return list
end

function statuses.is_code(name)
  for _, code in ipairs(codes) do
    if code[1] == name then return true end
  end
  return false
end

function statuses.codes() return entries_of("status", codes) end

function statuses.reasons()
  local list = entries_of("reason", reasons)
  for _, e in ipairs(entries_of("postprocessor", postprocessors)) do
    list[#list + 1] = e
  end
  list[#list + 1] = { name = "funnel",
                      summary = "what the lines of result.funnel count",
                      page = function() return lines end }
  return list
end

return statuses
