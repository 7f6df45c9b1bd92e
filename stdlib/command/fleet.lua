-- SPDX-License-Identifier: Apache-2.0
-- `tessera fleet`: makes, shows and steers a fleet.
local ts = require "tessera"
local arguments = require "tessera.command.arguments"
local declared = require "tessera.command.declared"
local json = require "tessera.lang.write_json"
local metrics = require "tessera.command.metrics"
local read = require "tessera.lang.read_json"

local usage = arguments.usage

-- ---- status ----------------------------------------------------------------

local function ago(seconds)
  if not seconds then return "never" end
  if seconds < 120 then return ("%.0f s ago"):format(seconds) end
  if seconds < 7200 then return ("%.0f min ago"):format(seconds / 60) end
  return ("%.0f h ago"):format(seconds / 3600)
end

-- What a device does, in a few words.
local function doing(d)
  if d.quarantined then return "quarantined: " .. d.quarantined end
  if not d.alive then return "away, seen " .. ago(d.seen) end
  if d.paused then return "paused" end
  if d.draining then return "draining" end
  if not d.batch then return "idle" end
  return ("batch %d of %s, %.1f s"):format(d.batch, d.program or "?",
                                           d.since or 0)
end

local function print_status(s)
  for _, k in ipairs(s.keys) do
    print(("key %s: %d devices, %d batches queued, %d at work, %d results " ..
           "in the last minute%s"):format(k.key, k.devices, k.queued, k.leased,
           k.minute, k.stopped and "; STOPPED: " .. k.stopped or ""))
  end
  for _, d in ipairs(s.devices) do
    print(("  %-24s %-12s %-5s %8d done  %s%s"):format(d.device, d.key, d.role,
          d.done, doing(d), d.failures > 0 and
          (", %d failures"):format(d.failures) or ""))
  end
  for _, x in ipairs(s.sessions) do
    print(("session %d of %s: %s on %s, %d batches queued"):format(x.session,
          x.owner, x.program, x.key, x.queued))
  end
  if #s.devices == 0 then print("no device has been here yet") end
end

-- ---- the others ------------------------------------------------------------

local function print_hops(hops)
  local failed
  for _, h in ipairs(hops) do
    print(("%s  %s%s"):format(h.ok and "ok    " or "FAILED", h.hop,
                              h.why and ": " .. h.why or ""))
    failed = failed or (not h.ok and h)
  end
  if failed then error(("'%s' fails: %s"):format(failed.hop, failed.why), 0) end
end

local function print_wrong(list)
  for _, w in ipairs(list) do
    print(("batch %s, job %s: %s"):format(w.batch or "-", w.job or "-", w.what))
  end
  if #list > 0 then error("the fleet's history is wrong", 0) end
  print "the fleet's history is right"
end

local function print_names(list)
  for _, name in ipairs(list or {}) do print(name) end
end

local function print_counts(t)
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys)
  for _, k in ipairs(keys) do print(("%s %s"):format(k, t[k])) end
end

local function password_of(path)
  if not path then return nil end
  local f <close> = assert(io.open(path))
  return f:read "l" or usage("%s has no password", path)
end

-- Each: the option that it needs, the name that it takes, the arguments that it
-- sends, how the answer is shown.
local commands = {
  init = { send = function(o) return { lease = o.lease, keys = o.keys } end,
           show = function(r) print("the fleet's schema is version " ..
                                    r.schema) end },
  status = { show = print_status },
  metrics = { show = function(m) io.write(metrics(m)) end },
  check = { show = print_wrong },
  doctor = { needs = "key", show = print_hops,
             send = function(o) return { key = o.key } end },
  add = { needs = "role", name = "USER",
          send = function(o, name)
            for role in (o.role .. ","):gmatch "([^,]*)," do
              if not ("submit build run admin "):find(role .. " ", 1, true) then
                usage("option --role: there is no '%s'; there are submit, " ..
                      "build, run, admin", role)
              end
            end
            return { name = name, role = o.role,
                     password = password_of(o["password-file"]) }
          end,
          show = function(r) print(("%s may %s"):format(r.name, r.role)) end },
  pause = { name = "NAME", show = print_names,
            send = function(_, name) return { name = name, on = true } end },
  resume = { name = "NAME", show = print_names, calls = "pause",
             send = function(_, name) return { name = name, on = false } end },
  drain = { name = "NAME", show = print_names,
            send = function(_, name) return { name = name } end },
  retry = { name = "NAME", show = print_names,
            send = function(_, name) return { name = name } end },
  gc = { needs = "older-than",
         show = print_counts,
         send = function(o) return { age = o["older-than"].seconds } end },
}

local function names()
  local list = {}
  for name in pairs(commands) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

return function(args)
  local which = table.remove(args, 1)
  local command = commands[which]
  if not command then
    usage("fleet has no command '%s'; it has %s", which or "", names())
  end
  local o, rest = arguments.parse(args, declared.kinds("fleet", which),
                                  "fleet " .. which)
  local wanted = command.name and 1 or 0
  if #rest ~= wanted then
    usage("fleet %s takes %s", which, command.name and "one " .. command.name or
          "options only")
  end
  for _, needed in ipairs { "fleet", command.needs } do
    if not o[needed] then usage("fleet %s needs --%s", which, needed) end
  end
  local sent = command.send and command.send(o, rest[1]) or {}
  local text = ts.fleet(o.fleet, command.calls or which,
                        next(sent) and json.text(sent) or "{}")
  if o.json then
    print(text)
    return 0
  end
  command.show(read(text))
  return 0
end
