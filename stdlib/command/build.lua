-- SPDX-License-Identifier: Apache-2.0
-- `tessera build`: compiles a program, or the best schedule of it that a
-- database has, to a shared object, an object file or a file for
-- ts.load_kernel.
local ts = require "tessera"
local options = require "tessera.lang.options"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local files = require "tessera.command.files"

local usage = arguments.usage

-- The fastest schedule of a program for a target that a database has.
local function best_schedule(path, program, target)
  local record, trace = files.open_database(path):best(program, target)
  if not record then error(tostring(trace), 0) end
  return trace:replay(program), record
end

return function(args)
  local o, rest = arguments.parse(args, declared.kinds "build")
  if #rest ~= 1 then
    usage("build takes one FILE.lua, trace, listing, saved program or " ..
          "DB:RECORD")
  end
  if not o.o then
    usage("build needs -o NAME.so, -o NAME.o or -o NAME.kernel")
  end
  if not (o.o:find "%.s?o$" or o.o:find "%.kernel$") then
    usage("option -o: '%s' is neither NAME.so nor NAME.o nor NAME.kernel", o.o)
  end
  local read = { rest[1]:match "^(.+):%d+$" or rest[1], db = o.db,
                 program = o.program }
  arguments.check_output("-o", o.o, read)
  if o.header then
    if o.header == o.o then usage("options -o and --header name one file") end
    arguments.check_output("--header", o.header, read)
  end
  local found, record = files.load_lowered(rest[1], o), nil
  local target = arguments.target(o.target or "llvm")
  if not o.target and o.described then target = ts.target(o.described) end
  if o.db then
    if options.is(found, "schedule") then
      usage("option --db: %s is scheduled already", rest[1])
    end
    found, record = best_schedule(o.db, found, target)
  end
  ts.build(found, target):save(o.o, o.header)
  print(("%s: %s"):format(o.o, record and
        ("record %d of %s, %.4g ms"):format(record.id, o.db,
                                            record.seconds * 1e3) or
        options.is(found, "schedule") and "as it is scheduled" or
        "without a schedule; --db takes the best one of a database"))
  return 0
end
