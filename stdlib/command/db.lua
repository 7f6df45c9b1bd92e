-- SPDX-License-Identifier: Apache-2.0
-- `tessera db [WORD] FILE ...`: lists, compares, merges, prunes, verifies,
-- exports and imports databases.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"
local records = require "tessera.command.records"
local groups = require "tessera.report.groups"

local usage = arguments.usage

-- The sub-commands, each a function of what stands behind its word, the options
-- and the host; it gives the exit status, nil for 0.
local words = {}

-- ---- list, best, diff ------------------------------------------------------

function words.list(rest, o, host)
  files.open_database(rest[1])
  local filter = records.filter_of(o)
  filter.limit = o.limit or 1000
  return records.list(rest[1], filter, o, host.verbose)
end

local function groups_of(path, filter)
  local db = files.open_database(path)
  return groups.of(db:records(filter or math.maxinteger))
end

local function best_of(g) return g and g.best and g.best.seconds end

function words.best(rest, o)
  local filter = records.filter_of(o)
  filter.limit = math.maxinteger
  local found = groups_of(rest[1], filter)
  if #found == 0 then return records.print_none(rest[1], filter) end
  print(("%6s  %12s  %7s  %7s  %-20s  %-8s  %s"):format(
          "record", "best", "records", "failed", "workload", "hash", "target"))
  for _, g in ipairs(found) do
    print(("%6s  %12s  %7d  %7d  %-20s  %-8s  %s"):format(
            g.best and g.best.id or "-",
            g.best and records.ms(g.best.seconds) or "-", #g.records, g.failed,
            records.plain(g.name), g.hash:sub(1, 8),
            records.plain(g.target)))
  end
end

-- The best times of two files, where the workload, the target and the policy
-- are the same, and what only one of them has.
function words.diff(rest)
  local a, b = rest[1], rest[2]
  local left, of_left = groups_of(a)
  local right, of_right = groups_of(b)
  local function row(g, x, y)
    local p, q = best_of(x), best_of(y)
    print(("%12s  %12s  %8s  %-20s  %-8s  %s"):format(
            p and records.ms(p) or "-", q and records.ms(q) or "-",
            p and q and ("%.3f"):format(q / p) or "-", records.plain(g.name),
            g.hash:sub(1, 8), records.plain(g.target)))
  end
  print(("%12s  %12s  %8s  %-20s  %-8s  %s"):format("first", "second",
        "ratio", "workload", "hash", "target"))
  for _, g in ipairs(left) do row(g, g, of_right[g.key]) end
  for _, g in ipairs(right) do
    if not of_left[g.key] then row(g, nil, g) end
  end
end

-- ---- merge, export, import, prune ------------------------------------------

local function counted(n) return n == 1 and "1 record" or n .. " records" end

local function is_there(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

-- What f(db) gives; where it fails a file that was made for it, and is empty,
-- goes again.
local function with_database(path, f)
  local was_there = is_there(path)
  local db = ts.database(path)
  local result = table.pack(pcall(f, db))
  if result[1] then return table.unpack(result, 2, result.n) end
  local counted_ok, rows = pcall(db.records, db, 0)
  db:close()
  if not was_there and counted_ok and rows.total == 0 then
    for _, ending in ipairs { "", "-wal", "-shm" } do
      os.remove(path .. ending)
    end
  end
  error(result[2], 0)
end

function words.merge(rest)
  local path = rest[1]
  with_database(path, function(db)
    for i = 2, #rest do
      print(("%s: %s of %s"):format(path, counted(db:merge(rest[i])), rest[i]))
    end
  end)
end

-- The programs of --program, for TVM's files, which cannot say them to us.
local function programs_of(word, o)
  if not o.program then
    usage("db %s --tvm needs --program FILE.lua, which returns the " ..
          "programs in the order of TVM's workloads", word)
  end
  return files.programs_of(o.program)
end

-- Options of one format say nothing in the other.
local function check_format(word, o)
  if o.program and not o.tvm then
    usage("db %s takes --program only with --tvm DIR", word)
  end
  if o.o and o.tvm then
    usage("db %s takes -o or --tvm DIR, not both", word)
  end
end

function words.export(rest, o)
  check_format("export", o)
  if o.tvm then
    local written, left = require "tessera.records.tvm_database".export(
      files.open_database(rest[1]), o.tvm, programs_of("export", o))
    print(("%s/tuning_record.json: %s, %d without a form in TVM"):format(
            o.tvm, counted(written), left))
    return 0
  end
  if not o.o then usage("db export needs -o FILE.jsonl") end
  arguments.check_output("-o", o.o, { rest[1] })
  files.open_database(rest[1]):export(o.o)
end

local function import_tvm(rest, o)
  local programs = programs_of("import", o)
  local added, left, why = with_database(rest[1], function(db)
    local n, without, first =
      require "tessera.records.tvm_database".import(db, o.tvm, programs)
    if n == 0 then
      error(("%s/tuning_record.json: nothing was taken over, %d left out%s")
            :format(o.tvm, without, first and "; the first: " .. first or ""),
            0)
    end
    return n, without, first
  end)
  print(("%s: %s of %s, %d left out"):format(rest[1], counted(added), o.tvm,
                                            left))
  if why then io.stderr:write("the first that was left out: ", why, "\n") end
end

words["import"] = function(rest, o)
  check_format("import", o)
  if o.tvm then return import_tvm(rest, o) end
  local path, lines = rest[1], rest[2]
  local n = with_database(path, function(db) return db:import(lines) end)
  print(("%s: %s of %s"):format(path, counted(n), lines))
end

-- Of the records that the options select all but the best N go.
function words.prune(rest, o)
  local filter = records.filter_of(o)
  if not o.keep and next(filter) == nil then
    usage("db prune needs --keep N, or options that say what is removed")
  end
  filter.keep, filter.dry_run = o.keep or 0, o["dry-run"]
  local n = files.open_database(rest[1]):prune(filter)
  print(("%s: %s %s"):format(rest[1], counted(n), o["dry-run"] and
        "would be removed" or "removed"))
end

-- ---- verify ----------------------------------------------------------------

-- Why a record cannot be read or replayed, without the words that name it.
local function reason(e, path, id)
  local text = tostring(type(e) == "table" and e.message or e)
  local known = ("database %s: record %d: "):format(path, id)
  if text:sub(1, #known) == known then text = text:sub(#known + 1) end
  return text:match "^[^\n]*"
end

-- Each record whose columns are right: can it be read, does its trace apply,
-- and does it give the program that was measured?  Adds those that do not to
-- the set `bad`; how many records there are, those with impossible columns,
-- which are not listed, included.
local function verify_records(db, path, bad)
  local said, count, current = nil, 0, nil
  local before <close> = setmetatable({ ts.on_warning(function(text)
    if current and text:find(current, 1, true) == 1 then said = text end
  end) }, { __close = function(was) ts.on_warning(was[1]) end })
  local unlisted = {}
  for id in pairs(bad) do unlisted[id] = true end
  for _, r in ipairs(db:records(math.maxinteger)) do
    said, count, unlisted[r.id] = nil, count + 1, nil
    current = ("database %s: record %d: "):format(path, r.id)
    if not bad[r.id] then
      local ok, e = pcall(db.trace, db, r.id)
      local why = not ok and e or said or r.damaged and
                  "its decisions are not those of its trace"
      if why then
        bad[r.id] = true
        print(("%s: record %d: %s"):format(path, r.id,
              records.plain(reason(why, path, r.id))))
      end
    end
  end
  for _ in pairs(unlisted) do count = count + 1 end
  return count
end

-- The lines of the file and its tables, of which those about a record are
-- noted in the set `bad`; whether there are others.
local function print_damage(path, db, bad)
  local others = false
  for _, line in ipairs(db:verify()) do
    local id = math.tointeger(line:match "^record (%d+): ")
    if id then bad[id] = true else others = true end
    print(("%s: %s"):format(path, records.plain(line)))
  end
  return others
end

-- The file and its tables, then the records, as far as damage lets them be
-- read.
function words.verify(rest)
  local path, bad = rest[1], {}
  local db = files.open_database(path)
  local damaged = print_damage(path, db, bad)
  local ok, n = pcall(verify_records, db, path, bad)
  if not ok and not damaged and next(bad) == nil then error(n, 0) end
  if not ok then
    print(("%s: its records cannot be read"):format(path))
    return 1
  end
  local count = 0
  for _ in pairs(bad) do count = count + 1 end
  print(("%s: %s, %d bad%s"):format(path, counted(n), count, damaged and
        "; the file itself is damaged" or ""))
  return (count > 0 or damaged) and 1 or 0
end

-- ---- the command -----------------------------------------------------------

local known = declared.by_name.db.words

local function check_count(word, rest, o)
  local k = known[word]
  local least, most, what = k.least or 1, k.most or 1, k.what or "one FILE"
  if o.tvm and word == "import" then
    least, most, what = 1, 1, "one FILE with --tvm DIR"
  end
  if #rest < least or #rest > most then
    usage("db %stakes %s", word ~= "list" and word .. " " or "", what)
  end
end

-- Two words, the first of which is none of ours.
local function check_word(args)
  local function is_word(text) return text and text:sub(1, 1) ~= "-" end
  if known[args[1]] or not (is_word(args[1]) and is_word(args[2])) then
    return
  end
  local names = {}
  for i, w in ipairs(known) do names[i] = w.name end
  table.sort(names)
  usage("db has no sub-command '%s'; it has %s", args[1],
        table.concat(names, ", "))
end

-- A word without a file behind it is the name of one, which is listed; that of
-- a sub-command is so where there is such a file.
return function(args, host)
  check_word(args)
  local first = known[args[1]] and (#args > 1 or not is_there(args[1]))
  local word = first and args[1] or "list"
  local from = first and 2 or 1
  local o, rest = arguments.parse({ table.unpack(args, from) },
                                  declared.kinds("db", word),
                                  from == 2 and "db " .. word or nil)
  check_count(word, rest, o)
  return words[word](rest, o, host) or 0
end
