-- SPDX-License-Identifier: Apache-2.0
-- `tessera db WORD ...`: what is done with databases besides listing them.
local ts = require "tessera"

local databases = {}

-- Those of a command: usage(text, ...) raises a wrong call, is_database(path)
-- tells whether a file is one, ms(seconds) is a time, plain(text) one field,
-- programs(path) are those that a file returns, filter_of(o) is the filter that
-- options make, print_none(path, filter) says why it leaves nothing.
local host
local function open(path, make)
  if not make and not host.is_database(path) then
    error(path .. ": not a database", 0)
  end
  return ts.database(path)
end

local function two(rest, word, what)
  if #rest ~= 2 then host.usage("db %s takes %s", word, what) end
  return rest[1], rest[2]
end

-- ---- best, diff ------------------------------------------------------------

local function key_of(r)
  return r.hash .. "\0" .. r.target .. "\0" .. r.policy
end

-- The groups of records whose times are comparable, in the order of their
-- names: { name, hash, target, policy, count, failed, best = record }.
local function groups_of(path, filter)
  local groups, of = {}, {}
  for _, r in ipairs(open(path):records(filter or math.maxinteger)) do
    local g = of[key_of(r)]
    if not g then
      g = { name = r.workload, hash = r.hash, target = r.target,
            policy = r.policy, shapes = r.shapes, count = 0, failed = 0 }
      of[key_of(r)], groups[#groups + 1] = g, g
    end
    g.count = g.count + 1
    if r.status ~= "OK" or r.damaged then g.failed = g.failed + 1 end
    if not g.best and r.checked and not r.damaged then g.best = r end
  end
  table.sort(groups, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return key_of(a) < key_of(b)
  end)
  return groups, of
end

local function best_of(g) return g and g.best and g.best.seconds end

function databases.best(rest, o)
  if #rest ~= 1 then host.usage("db best takes one FILE") end
  open(rest[1])
  local filter = host.filter_of(o)
  filter.limit = math.maxinteger
  local groups = groups_of(rest[1], filter)
  if #groups == 0 then return host.print_none(rest[1], filter) end
  print(("%6s  %12s  %7s  %7s  %-20s  %-8s  %s"):format(
          "record", "best", "records", "failed", "workload", "hash", "target"))
  for _, g in ipairs(groups) do
    print(("%6s  %12s  %7d  %7d  %-20s  %-8s  %s"):format(
            g.best and g.best.id or "-", g.best and host.ms(g.best.seconds) or
            "-", g.count, g.failed, host.plain(g.name), g.hash:sub(1, 8),
            host.plain(g.target)))
  end
end

-- The best times of two files, where the workload, the target and the policy
-- are the same, and what only one of them has.
function databases.diff(rest)
  local a, b = two(rest, "diff", "two FILEs")
  local left, of_left = groups_of(a)
  local right, of_right = groups_of(b)
  local function row(g, x, y)
    local p, q = best_of(x), best_of(y)
    print(("%12s  %12s  %8s  %-20s  %-8s  %s"):format(
            p and host.ms(p) or "-", q and host.ms(q) or "-",
            p and q and ("%.3f"):format(q / p) or "-", host.plain(g.name),
            g.hash:sub(1, 8), host.plain(g.target)))
  end
  print(("%12s  %12s  %8s  %-20s  %-8s  %s"):format("first", "second",
        "ratio", "workload", "hash", "target"))
  for _, g in ipairs(left) do row(g, g, of_right[key_of(g)]) end
  for _, g in ipairs(right) do
    if not of_left[key_of(g)] then row(g, nil, g) end
  end
end

-- ---- merge, export, import, prune ------------------------------------------

local function records(n) return n == 1 and "1 record" or n .. " records" end

function databases.merge(rest)
  if #rest < 2 then
    host.usage("db merge takes a FILE and those to add to it")
  end
  local db = open(rest[1], true)
  for i = 2, #rest do
    print(("%s: %s of %s"):format(rest[1], records(db:merge(rest[i])), rest[i]))
  end
end

-- The programs of --program, for TVM's files, which cannot say them to us.
local function programs_of(word, o)
  if not o.program then
    host.usage("db %s --tvm needs --program FILE.lua, which returns the " ..
               "programs in the order of TVM's workloads", word)
  end
  return host.programs(o.program)
end

-- Options of one format say nothing in the other.
local function check_format(word, o)
  if o.program and not o.tvm then
    host.usage("db %s takes --program only with --tvm DIR", word)
  end
  if o.o and o.tvm then
    host.usage("db %s takes -o or --tvm DIR, not both", word)
  end
end

function databases.export(rest, o)
  if #rest ~= 1 then host.usage("db export takes one FILE") end
  check_format("export", o)
  if o.tvm then
    local written, left = require "tessera.tvm_database".export(
      open(rest[1]), o.tvm, programs_of("export", o))
    print(("%s/tuning_record.json: %s, %d without a form in TVM"):format(
            o.tvm, records(written), left))
    return 0
  end
  if not o.o then host.usage("db export needs -o FILE.jsonl") end
  open(rest[1]):export(o.o)
end

local function import_tvm(rest, o)
  if #rest ~= 1 then host.usage("db import --tvm DIR takes one FILE") end
  local added, left, why = require "tessera.tvm_database".import(
    open(rest[1], true), o.tvm, programs_of("import", o))
  print(("%s: %s of %s, %d left out"):format(rest[1], records(added), o.tvm,
                                            left))
  if why then io.stderr:write("the first that was left out: ", why, "\n") end
end

databases["import"] = function(rest, o)
  check_format("import", o)
  if o.tvm then return import_tvm(rest, o) end
  local path, lines = two(rest, "import", "a FILE and the lines to add to it")
  print(("%s: %s of %s"):format(path, records(open(path, true):import(lines)),
                                lines))
end

function databases.prune(rest, o)
  if #rest ~= 1 then host.usage("db prune takes one FILE") end
  if not o.keep then host.usage("db prune needs --keep N") end
  print(("%s: %s removed"):format(rest[1], records(open(rest[1])
                                                   :prune(o.keep))))
end

-- ---- verify ----------------------------------------------------------------

-- Each record: can it be read, does its trace apply, and does it give the
-- program that was measured?
function databases.verify(rest)
  if #rest ~= 1 then host.usage("db verify takes one FILE") end
  local db = open(rest[1])
  local said, bad = nil, 0
  local before = ts.on_warning(function(text) said = text end)
  local list = db:records(math.maxinteger)
  for _, r in ipairs(list) do
    said = nil
    local ok, e = pcall(db.trace, db, r.id)
    local why = r.damaged and "it is damaged" or
                not ok and tostring(e.message or e):match "^[^\n]*" or said
    if why then
      bad = bad + 1
      print(("record %d: %s"):format(r.id, host.plain(why)))
    end
  end
  ts.on_warning(before)
  print(("%s: %s, %d bad"):format(rest[1], records(#list), bad))
  return bad > 0 and 1 or 0
end

-- ---- the command -----------------------------------------------------------

-- The options of each word; nothing that is given is passed over.
local words = {
  best = { program = "string", workload = "string", target = "string" },
  diff = {}, merge = {}, verify = {},
  export = { o = "string", tvm = "string", program = "string" },
  ["import"] = { tvm = "string", program = "string" },
  prune = { keep = 1 << 31 },
}

-- nil where args are no such call.
function databases.run(args, parse, given)
  local word = args[1]
  if not words[word] or #args < 2 then return nil end
  host = given
  local o, rest = parse({ table.unpack(args, 2) }, words[word], "db " .. word)
  return databases[word](rest, o) or 0
end

return databases
