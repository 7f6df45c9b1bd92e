-- SPDX-License-Identifier: Apache-2.0
-- Tunes ResNet-18's convolutions for access-execute machines, with and without
-- latency hiding, for build/bench/dae:
--   dae [--quick] [--bare] [--machine M,..] [--layer C2,..] [--trials N]
--       [--seed N] [--timeline]
-- A shift and a cut-off are behind each sum; `--bare`: its low byte is stored.
-- Prints a line of JSON for each layer, machine and way: the utilisation of the
-- matrix unit, its cycles, and its place in the roofline.  Without hiding and
-- with, a layer is tuned with as many trials, so both figures are those of the
-- best tile that was found for the way.  Results are compared with the
-- processor's: where one differs, the status is 1.
local ts = require "tessera"
local machines = require "tessera.machines"
local here = arg[0]:match "^(.*)/[^/]*$" or "."
local dae = dofile(here .. "/../tests/support/dae.lua")
local use_dae = require "tessera.modules.use_dae"

-- ---- the command line ------------------------------------------------------

local arguments = dofile(here .. "/support/arguments.lua")(
  "dae [--quick] [--bare] [--machine M,..] [--layer C2,..] [--trials N] " ..
  "[--seed N] [--timeline]")
local given, rest = arguments.options {
  quick = false, bare = false, timeline = false, machine = "vdla,vta",
  layer = "", trials = 128, seed = 1 }
if rest[1] then arguments.refuse("what is '%s'?", rest[1]) end
if given.quick and given.layer == "" then given.layer = "C6" end
if given.quick then given.machine, given.trials = "vdla", 16 end

-- ---- what a layer takes ----------------------------------------------------

-- Products of [16] by [16, 16], accumulators that are stored, and the bytes
-- that have to move once.
local function work(o)
  local k, s = o.k or 3, o.stride or 1
  local out = (o.h + 2 * (k // 2) - k) // s + 1
  return {
    products = out * out * (o.ic // 16) * (o.oc // 16) * k * k,
    stored = out * out * (o.oc // 16),
    bytes = o.h * o.h * o.ic + k * k * o.ic * o.oc + out * out * o.oc,
  }
end

-- Cycles of the memory and of the compute unit, of which the longer bounds what
-- can be reached: each accumulator is reset, and three operations of the vector
-- unit follow it.
local function bounds(w, m)
  local memory = w.bytes / m.memory.bus
  local follow = given.bare and 0 or 3 * m.vector.interval
  local unit = w.products * m.matrix.interval +
               w.stored * (m.matrix.interval + follow)
  return { roofline = math.min(1, w.products / math.max(w.products, memory)),
           unit = w.products / math.max(unit, memory) }
end

-- ---- tuning ----------------------------------------------------------------

-- How many results differ from the processor's.
local wrong = 0

local function check(p, kernel)
  local got, want = dae.tensors(p, 7)
  kernel(table.unpack(got))
  ts.build(p)(table.unpack(want))
  local equal = dae.same(got, want)
  wrong = wrong + (equal and 0 or 1)
  return equal
end

local function tune(p, machine, hiding)
  local r = ts.tune(p, {
    target = "dae -model=" .. machine, trials = given.trials,
    seed = given.seed, min_time = 1e-6,
    space = ts.space.compose { use_dae { hiding = hiding } },
  })
  assert(r.schedule, "no candidate fits the machine")
  return r
end

local function matches(list, name)
  return list == "" or ("," .. list .. ","):find("," .. name .. ",", 1, true)
end

local function json(x)
  local list = {}
  for _, key in ipairs { "figure", "value", "unit", "layer", "machine",
                         "hiding", "cycles", "roofline", "unit_bound",
                         "ops_per_byte", "equal", "trials" } do
    local v = x[key]
    list[#list + 1] = ("%q: %s"):format(key, type(v) == "string" and
      ("%q"):format(v) or math.type(v) == "float" and ("%.4f"):format(v) or
      tostring(v))
  end
  return "{" .. table.concat(list, ", ") .. "}"
end

local ways = { { false, { "none" } },
               { true, { "both", "tiles" } } }

for machine in given.machine:gmatch "[^,]+" do
  local m = machines.of(ts.target("dae -model=" .. machine))
  for _, layer in ipairs(dae.resnet18) do
    local name, o = table.unpack(layer)
    if matches(given.layer, name) then
      o.bare = given.bare
      local p, w = dae.conv(o), work(o)
      local bound, share = bounds(w, m), {}
      for _, way in ipairs(ways) do
        local r = tune(p, machine, way[2])
        local cycles = math.floor(r.latency * m.clock * 1e6 + 0.5)
        share[way[1]] = w.products * m.matrix.interval / cycles
        print(json {
          figure = "utilisation", value = share[way[1]], unit = "share",
          layer = name, machine = machine, hiding = way[1], cycles = cycles,
          roofline = bound.roofline, unit_bound = bound.unit,
          ops_per_byte = w.products * 512 / w.bytes,
          equal = check(p, r.kernel), trials = r.trials })
        io.stdout:flush()
        if given.timeline then
          io.stderr:write(r.kernel:source "timeline")
        end
      end
      io.stderr:write(("%-4s %s: %.1f %% -> %.1f %%; at most %.1f %% by the " ..
        "roofline, %.1f %% with the vector unit; of the gap %.0f %% and " ..
        "%.0f %%\n"):format(name, machine, 100 * share[false],
        100 * share[true], 100 * bound.roofline, 100 * bound.unit,
        100 * (share[true] - share[false]) / (bound.roofline - share[false]),
        100 * (share[true] - share[false]) / (bound.unit - share[false])))
    end
  end
end
if wrong > 0 then
  io.stderr:write(("dae: %d results are not the processor's\n"):format(wrong))
  os.exit(1)
end
