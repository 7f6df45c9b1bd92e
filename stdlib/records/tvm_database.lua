-- SPDX-License-Identifier: Apache-2.0
-- Records to and from TVM MetaSchedule's JSON database.  That is two files of
-- lines: database_workload.json, [hash, program] with TVM's own encoding of
-- the program, and tuning_record.json, [workload, [trace, seconds, target,
-- arguments]].  Tessera neither writes nor reads TVM's programs: which of ours
-- is which workload the caller says, in the order of the workloads' lines.
local ts = require "tessera"

local tvm = {}

-- ---- JSON, as far as lines are cut into values -----------------------------

-- The place behind the value that begins at i.
local function skip(text, i)
  i = text:find("%S", i) or #text + 1
  local c = text:sub(i, i)
  if c == '"' then
    i = i + 1
    while true do
      i = text:find('["\\]', i)
      if not i then error("a text that does not end", 0) end
      if text:sub(i, i) == '"' then return i + 1 end
      i = i + 2
    end
  end
  if c ~= "[" and c ~= "{" then
    return (text:find("[%s,%]}:]", i)) or #text + 1
  end
  i = i + 1
  while true do
    i = text:find("[^%s,:]", i)
    if not i then error("a list that does not end", 0) end
    if text:find("^[%]}]", i) then return i + 1 end
    local after = skip(text, i)
    if after <= i then error("it is no JSON", 0) end
    i = after
  end
end

-- The elements of a list, or keys and values of an object, as texts.
local function parts(text, open)
  local i = text:find("%S") or 1
  if text:sub(i, i) ~= (open or "[") then error("a list is missing", 0) end
  local list = {}
  i = i + 1
  while true do
    i = text:find("[^%s,:]", i)
    if not i then error("a list that does not end", 0) end
    if text:find("^[%]}]", i) then return list end
    local after = skip(text, i)
    if after <= i then error("it is no JSON", 0) end
    list[#list + 1] = text:sub(i, after - 1)
    i = after
  end
end

-- ---- targets, arguments ----------------------------------------------------

local known = { mcpu = true, mtriple = true, ["num-cores"] = true }

-- {"kind": "llvm", "mcpu": "znver3", "num-cores": 8} as our text.
local function target_of(text)
  local kind, words, list = "llvm", {}, parts(text, "{")
  for i = 1, #list, 2 do
    local key = list[i]:match '^"(.*)"$'
    local value = list[i + 1]:match '^"(.*)"$' or list[i + 1]
    if key == "kind" then kind = value end
    if known[key] then words[#words + 1] = ("-%s=%s"):format(key, value) end
  end
  table.sort(words)
  local all = table.concat({ kind, table.unpack(words) }, " ")
  local ok, target = pcall(ts.target, all)
  return ok and tostring(target) or all
end

local function target_json(text)
  local fields = { ('"kind":"%s"'):format(text:match "^%S+"),
                   '"keys":["cpu"]', '"tag":""' }
  for key, value in text:gmatch "%-([%w-]+)=(%S+)" do
    if known[key] then
      fields[#fields + 1] = ('"%s":%s'):format(key, tonumber(value) and value or
                                               ('"%s"'):format(value))
    end
  end
  return "{" .. table.concat(fields, ",") .. "}"
end

local function arguments_json(program)
  local list = {}
  for i, p in ipairs(program:params()) do
    list[i] = ('["TENSOR","%s",[%s]]'):format(p.dtype,
                                              table.concat(p.shape, ","))
  end
  return "[" .. table.concat(list, ",") .. "]"
end

-- ---- out -------------------------------------------------------------------

-- The trace without what follows the schedule: TVM adds its own.
local function trace_json(trace)
  local ok, text = pcall(function()
    return trace:replay(nil, { no_postproc = true }):trace():to_tvm_json()
  end)
  return ok and text:gsub("\n%s*", " ") or nil
end

-- Writes the successes of the programs to DIR/tuning_record.json, and makes DIR
-- where its parent is there; gives how many were written, and how many have
-- instructions that TVM has not.
function tvm.export(db, dir, programs)
  local path = dir .. "/tuning_record.json"
  os.execute(("mkdir -- '%s' 2>/dev/null"):format(dir:gsub("'", "'\\''")))
  local lines, left = {}, 0
  for index, program in ipairs(programs) do
    local arguments = arguments_json(program)
    for _, r in ipairs(db:records { program = program,
                                    limit = math.maxinteger }) do
      local text = r.status == "OK" and not r.damaged and
                   trace_json(db:trace(r.id))
      if text then
        local times = {}
        for i, s in ipairs(#r.samples > 0 and r.samples or { r.seconds }) do
          times[i] = ("%.17g"):format(s)
        end
        lines[#lines + 1] = ("[%d, [%s, [%s], %s, %s]]\n"):format(
          index - 1, text, table.concat(times, ", "), target_json(r.target),
          arguments)
      elseif r.status == "OK" then
        left = left + 1
      end
    end
  end
  ts.write_file(path, table.concat(lines))
  return #lines, left
end

-- ---- in --------------------------------------------------------------------

-- What TVM records for a failure.
local FAILED = 1e9

local function take(db, line, programs)
  local record = parts(line)
  local index = math.tointeger(tonumber(record[1]))
  local fields = parts(record[2] or "")
  local program = index and programs[index + 1]
  if not program then error("there is no program for workload " ..
                            tostring(record[1]), 0) end
  local times = {}
  for _, x in ipairs(parts(fields[2] or "")) do
    local s = tonumber(x)
    if not s or s >= FAILED then return 0 end
    times[#times + 1] = s
  end
  if #times == 0 then return 0 end
  local trace = ts.trace.from_tvm_json(fields[1], program)
  db:add(trace, target_of(fields[3] or "{}"), "TVM", times)
  return 1
end

-- Reads DIR/tuning_record.json: how many were added, and how many have
-- traces that do not apply here, the first with why.
function tvm.import(db, dir, programs)
  local path = dir .. "/tuning_record.json"
  local f, why = io.open(path, "rb")
  if not f then error(why, 0) end
  local added, left, first, number = 0, 0, nil, 0
  for line in f:lines() do
    number = number + 1
    local ok, n = pcall(take, db, line, programs)
    if ok then
      added = added + n
    else
      left = left + 1
      first = first or ("%s, line %d: %s"):format(path, number,
                tostring(type(n) == "table" and n.message or n)
                :match "^[^\n]*")
    end
  end
  f:close()
  return added, left, first
end

return tvm
