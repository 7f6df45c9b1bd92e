-- SPDX-License-Identifier: Apache-2.0
-- Files that sub-commands read: descriptions of programs, traces, saved
-- programs, records of databases.
local ts = require "tessera"
local options = require "tessera.lang.options"
local usage = require "tessera.command.arguments".usage

local files = {}

-- More than any trace or program has; and what has no end, as /dev/zero,
-- shall not be read until memory is full.
local MOST_BYTES = 1 << 27

-- The file's text, or its first `most` bytes.
function files.read_file(path, most)
  local f, why = io.open(path, "rb")
  if not f then error(why, 0) end
  local parts, left, bad = {}, most or MOST_BYTES + 1, nil
  while left > 0 do
    local part
    part, bad = f:read(math.min(left, 1 << 20))
    if not part then break end
    parts[#parts + 1] = part
    left = left - #part
  end
  f:close()
  if bad then error(path .. ": " .. bad, 0) end
  if not most and left == 0 then
    error(("%s: it has more than %d bytes"):format(path, MOST_BYTES), 0)
  end
  return table.concat(parts)
end

-- Raises an error that came from reading `name`, with that name.
function files.blame(name, e)
  if type(e) == "table" and e.message then
    e = tostring(e):match("^[^\n]*")
  end
  error(name .. ": " .. tostring(e), 0)
end

-- ---- what a file holds -----------------------------------------------------

-- What a description FILE.lua returns: a program, or a table with one; or,
-- where `schedules`, a schedule in place of the program.
local function load_description(path)
  local chunk, why = loadfile(path)
  if chunk then return chunk end
  -- Lua names no file when its stack overflows.
  local named = why:find(":%d+: ") or why:find(path, 1, true)
  error(named and why or path .. ": " .. why, 0)
end

local function description_of(path, schedules, result)
  if options.is(result, "program") or
     (schedules and options.is(result, "schedule")) then
    return { program = result }
  end
  if type(result) == "table" and
     options.is(result.program, "program") then
    return result
  end
  if type(result) == "table" and type(result.program) == "function" then
    local made = { pcall(result.program) }
    if made[1] and options.is(made[2], "program") then
      local d = {}
      for name in pairs(options.by_name) do d[name] = result[name] end
      d.program = made[2]
      return d
    end
    error(("%s: the field 'program' is a function that, without arguments, " ..
           "%s: let it have defaults, or return a program"):format(path,
          made[1] and "gives " .. options.text_of(made[2]) or
          "fails: " .. tostring(made[2])), 0)
  end
  if type(result) == "table" then
    error(("%s: the field 'program' is %s, not a program"):format(path,
          options.text_of(result.program)), 0)
  end
  error(path .. ": expected the file to return a program, or a table " ..
        "{ program = ..., space = ... }, not " .. options.type_of(result), 0)
end

-- Whether a file may return it for one program.
local function is_description(x)
  return options.is(x, "program") or
         type(x) == "table" and options.is(x.program, "program")
end

-- How the first is picked of several programs, which only tune takes, as an
-- expression of the file's name; nil: they are not several.
local function pick_of(results)
  local first, second = results[1], results[2]
  if is_description(first) then
    return is_description(second) and "(select(1, dofile(%q)))" or nil
  end
  if type(first) ~= "table" or first.program ~= nil then return nil end
  if type(first.tasks) == "table" then
    return is_description(first.tasks[1]) and "dofile(%q).tasks[1]" or nil
  end
  return is_description(first[1]) and "dofile(%q)[1]" or nil
end

-- What the file returns.  Errors of a call that it returns, which leaves no
-- frame of the file, name it by the registry.
local function run(path)
  local registry = debug.getregistry()
  registry["tessera.script"] = path
  local results = table.pack(load_description(path)())
  registry["tessera.script"] = nil
  return results
end

function files.run_description(path, schedules)
  local results = run(path)
  local pick = pick_of(results)
  if pick then
    error(("%s: it returns several programs, and one is expected; a file " ..
           "with `return %s` in it picks the first"):format(
            path, pick:format(path)), 0)
  end
  return description_of(path, schedules, results[1])
end

-- For tune: the same, or a description whose field `tasks` is the list of
-- several programs that the file returns, as values, a list, or a table with
-- such a field.
function files.run_tasks(path)
  local results = run(path)
  local first = results[1]
  if results.n > 1 then
    results.n = nil
    return { tasks = results }
  end
  if type(first) == "table" and first.program == nil then
    if type(first.tasks) == "table" then return first end
    if #first > 0 then
      local d = { tasks = {} }
      for k, v in pairs(first) do
        if math.type(k) == "integer" then d.tasks[k] = v else d[k] = v end
      end
      return d
    end
  end
  return description_of(path, false, first)
end

function files.is_database(path)
  return files.read_file(path, 15) == "SQLite format 3"
end

-- Databases are made by tuning and merging only: others must be there.
function files.open_database(path)
  if not files.is_database(path) then error(path .. ": not a database", 0) end
  return ts.database(path)
end

-- Whether there is such a file; one that cannot be read is an error.
local function exists(path)
  local f, why, code = io.open(path, "rb")
  if not f and code == 2 then return false end
  if not f then error(why, 0) end
  f:close()
  return true
end

-- "tune.db:17" names record 17: the record and its trace, which is bound to
-- its program; nil when `name` is no such thing.
function files.from_record(name)
  local path, number = name:match("^(.+):([^:/]*)$")
  if not path or not exists(path) then return nil end
  local is_number = number:find("^%d+$")
  if not is_number and exists(name) then return nil end
  local db = files.open_database(path)
  if not is_number then
    usage("'%s' is not the number of a record of %s: they count from 1, and " ..
          "`tessera db %s` lists them", number, path, path)
  end
  local id = math.tointeger(tonumber(number)) or
             error(("database %s has no record %s"):format(path, number), 0)
  local trace = db:trace(id)
  for _, r in ipairs(db:records(math.maxinteger)) do
    if r.id == id then return trace, r end
  end
  return trace
end

-- Declares those of tessera.intrin that a trace names: a file has the names
-- alone, where a database has the intrinsics, too.
local function declare_intrinsics(trace)
  for name in tostring(trace):gmatch 'tensor_intrin = "([^"]+)"' do
    local intrin = require "tessera.intrin"
    if pcall(intrin.info, name) then intrin.use(name) end
  end
end

-- The trace that a text is, by the parsers, which run no code; or nil and
-- why not.  Our JSON is an object, TVM's an array.
local function parse_trace(text, program)
  local mark = text:match("^%s*([{%[])")
  local read = mark == "{" and ts.trace.from_json or
               mark == "[" and ts.trace.from_tvm_json or ts.trace.from_lua
  local ok, result = pcall(read, text, program)
  if not ok then return nil, result end
  declare_intrinsics(result)
  return result
end

-- A trace that is asked for, from a file or a record.
function files.load_trace(name, program)
  local trace = files.from_record(name)
  if trace then return trace, true end
  if files.is_database(name) then
    usage("%s is a database: name a record of it, as in %s:1; `tessera db " ..
          "%s` lists them", name, name, name)
  end
  local why
  trace, why = parse_trace(files.read_file(name), program)
  if not trace then files.blame(name, why) end
  return trace, false
end

-- The programs that a file returns, one or several.
function files.programs_of(path)
  local d, list = files.run_tasks(path), {}
  for i, x in ipairs(d.tasks or { d.program }) do
    list[i] = options.is(x, "program") and x or x.program
  end
  return list
end

function files.try_trace(name, trace, program)
  local ok, refused = pcall(trace.replay, trace, program)
  if not ok then files.blame(name, refused) end
end

-- What is no trace says itself what it is of.
local function alone(found, name, o)
  if o.program then
    usage("option --program: it says what a trace schedules, and %s is no " ..
          "trace", name)
  end
  return found
end

-- The program of a listing NAME.tess.
local function read_listing(name)
  local ok, program = pcall(ts.parse, files.read_file(name))
  if ok then return program end
  local e = program
  files.blame(name, e.code == "PARSE" and ("%s: %s"):format(e.place, e.message)
                    or e.message or e)
end

-- What a file is, is found by trying: first what runs no code, a trace and a
-- saved program, then a script that gives a program.  What begins as only a
-- trace does, or is called so, is a trace, and why it is a bad one is said; so
-- is it where the trace does not apply to the program given.
function files.show_file(name, o)
  if name:find "%.tess$" then return alone(read_listing(name), name, o) end
  local text = files.read_file(name)
  local program = o.program and files.run_description(o.program).program
  local trace, why = parse_trace(text, program)
  if trace then
    if program then files.try_trace(name, trace, program) end
    return trace
  end
  if name:find("%.json$") or text:find("^%s*[{%[]") or
     text:find("^%s*%-%- tessera trace") then
    files.blame(name, why)
  end
  local ok, saved = pcall(ts.load_program, name)
  if ok then return alone(saved, name, o) end
  if text:find "^TSKERNEL" then
    error(name .. ": a saved kernel, which is compiled already: " ..
          "ts.load_kernel makes a kernel of it", 0)
  end
  if text:find("\0", 1, true) then
    error(name .. ": neither a trace, a saved program, a database nor a " ..
          "script", 0)
  end
  local d = files.run_description(name, true)
  o.described = d.target
  return alone(d.program, name, o)
end

-- What is lowered: the program of a description or a saved one, or what a
-- trace makes of the program that it is bound to or that --program names; and
-- the target of a record, or of a description that has one.
function files.load_lowered(name, o)
  local found, record = files.from_record(name)
  if record then o.described = record.target end
  found = found or files.show_file(name, o)
  if options.is(found, "trace") then
    local program = o.program and files.run_description(o.program).program
    local ok, sch = pcall(found.replay, found, program)
    if ok then return sch end
    if not program and sch.code == "INVALID" then
      usage("%s: a trace alone does not say what it schedules: add " ..
            "--program FILE.lua", name)
    end
    files.blame(name, sch)
  end
  return found
end

return files
