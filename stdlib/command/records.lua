-- SPDX-License-Identifier: Apache-2.0
-- Records of a database as text: lists of them, one with its samples, and the
-- filter that options make.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local files = require "tessera.command.files"
local parameters = require "tessera.report.parameters"

-- Four decimals, and of less than a microsecond four digits.
local function ms(seconds)
  return (seconds < 1e-6 and "%.4g ms" or "%.4f ms"):format(seconds * 1e3)
end

local function time_of(r)
  return r.seconds < math.huge and ms(r.seconds) or "-"
end

-- A text of a file, fit for one field of a line.
local function plain(text)
  return (text:gsub("%c", function(c) return ("\\x%02x"):format(c:byte()) end))
end

-- A time is worth little where nobody looked at what was computed.
local function status_of(r)
  if r.damaged then return "damaged" end
  return r.status == "OK" and not r.checked and "not compared" or r.status
end

-- Why a record failed, of which a compiler may say several lines.
local function print_message(indent, r)
  for line in r.message:gmatch "[^\n]+" do print(indent .. plain(line)) end
end

local function print_samples(r)
  if #r.samples == 0 then return end
  local least, greatest = math.huge, -math.huge
  for _, s in ipairs(r.samples) do
    least, greatest = math.min(least, s), math.max(greatest, s)
  end
  print(("-- samples: %d, from %s to %s"):format(#r.samples, ms(least),
                                                 ms(greatest)))
end

-- What tells programs of one name apart.
local function print_workload(r)
  print(("-- workload %s %s: %s"):format(plain(r.workload), r.hash,
        r.shapes ~= "" and plain(r.shapes) or "damaged"))
end

local function print_record(r)
  print(("-- record %d: %s, %s, %s, %s"):format(r.id, plain(r.workload),
        time_of(r), r.damaged and "damaged" or r.status, plain(r.target)))
  print_workload(r)
  print("-- measured by: " .. plain(r.policy))
  print_message("--   ", r)
  print_samples(r)
  local params = parameters.text(r:params())
  if params ~= "" then print("-- parameters: " .. params) end
end

-- The workloads of the rows, each once.
local function print_workloads(rows)
  local seen = {}
  for _, r in ipairs(rows) do
    if not seen[r.hash] then print_workload(r) end
    seen[r.hash] = true
  end
end

-- A word of a shell.
local function shell_word(text)
  if text:find "^[%w_./:=,@%%+-]+$" then return text end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The options of a filter, and the fields that they become, in the order in
-- which they are told.
local fields = { { "program", "program" }, { "workload", "workload" },
                 { "target", "target" }, { "older-than", "before" },
                 { "failed", "failed" }, { "outside-space", "other_than" } }

-- The options as they were given, as words of a shell.
local function words_of(o)
  local words = {}
  for _, field in ipairs(fields) do
    local name, v = field[1], o[field[1]]
    if type(v) == "table" then v = v.text end
    if v then
      words[#words + 1] = v == true and "--" .. name or
                          "--" .. name .. " " .. shell_word(v)
    end
  end
  return words
end

-- What a list leaves out; `o`: the options of the filter as they were given.
local function print_rest(rows, path, o)
  local rest, words = rows.total - #rows, words_of(o)
  if rest <= 0 then return end
  table.insert(words, 1, shell_word(path))
  print(("-- %d of %d records; `tessera db %s --limit %d` lists all"):format(
          #rows, rows.total, plain(table.concat(words, " ")), rows.total))
end

-- "workload and target", of those that are given.
local function filter_words(filter)
  local words = {}
  for _, field in ipairs(fields) do
    local name, key = field[1], field[2]
    if filter[key] then
      words[#words + 1] = key == "before" and "age" or
                          key == "failed" and "kind" or
                          key == "other_than" and "space" or name
    end
  end
  return table.concat(words, " and ")
end

-- Why nothing is listed.
local function print_none(path, filter)
  local all, words = ts.database(path):records().total, filter_words(filter)
  print(all == 0 and path .. ": no records" or
        words ~= "" and ("%s: none of its %d records is of that %s"):format(
          path, all, words) or path .. ": none is shown")
end

local function list_records(path, filter, o, verbose)
  local rows = ts.database(path):records(filter)
  if rows.total == 0 then
    print_none(path, filter)
    return 0
  end
  print_workloads(rows)
  print(("%6s  %12s  %-13s  %-20s  %-8s  %s"):format(
          "record", "time", "status", "workload", "hash", "target"))
  for _, r in ipairs(rows) do
    print(("%6d  %12s  %-13s  %-20s  %-8s  %s"):format(
            r.id, time_of(r), status_of(r), plain(r.workload),
            r.hash:sub(1, 8), plain(r.target)))
    if verbose then print_message((" "):rep(8), r) end
  end
  print_rest(rows, path, o)
  return 0
end

-- The sketches of the space that a description names, else of the default one,
-- for a target, nil: this machine.
local function sketches_of(d, target)
  local where = target or d.target or ts.target "llvm"
  local s = d.space or ts.space.default(where)
  return ts.space.sketches(s, d.program, where, { postprocs = true })
end

-- The filter that the options make.
local function filter_of(o)
  local d = o.program and files.run_description(o.program)
  local target = arguments.target(o.target)
  if o["outside-space"] and not d then
    arguments.usage("option --outside-space needs --program FILE.lua, whose " ..
                    "space it is")
  end
  return { target = target, workload = o.workload, program = d and d.program,
           failed = o.failed, before = o["older-than"] and o["older-than"].time,
           other_than = o["outside-space"] and sketches_of(d, target) or nil }
end

return { ms = ms, shell_word = shell_word, plain = plain, time_of = time_of,
         filter_of = filter_of, list = list_records, print_none = print_none,
         print_record = print_record }
