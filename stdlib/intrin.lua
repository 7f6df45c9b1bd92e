-- SPDX-License-Identifier: Apache-2.0
-- Tensor intrinsics of processors and GPUs, by name.  The families are in
-- intrin/, where each intrinsic is entered with its description, what code
-- does in its place, the features that it needs and its page.
local ts = require "tessera"
local options = require "tessera.lang.options"
local words = require "tessera.lang.words"
local dae = require "tessera.intrin.dae"
local kit = require "tessera.intrin.kit"

for _, family in ipairs { "vectors", "x86", "arm", "cuda" } do
  require("tessera.intrin." .. family)
end

local intrin = {}
local invalid = debug.getregistry()["tessera.invalid"]

local function find(name)
  local x = kit.entries[name]
  if not x then
    local meant = words.suggestion(tostring(name), intrin.names())
    invalid(("there is no intrinsic %s%s"):format(options.quoted(name),
      meant ~= "" and meant or "; intrin.names() lists them"))
  end
  return x
end

-- The names of all of them, sorted, or of those of a family: "vectors", "x86",
-- "arm", "wmma", "mma", "dae".
function intrin.names(family)
  local names = {}
  for name, x in pairs(kit.entries) do
    if not x.is_made and (not family or x.family == family) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

-- Declares it in this context; gives its name, what tensorize takes.
function intrin.use(name)
  find(name)
  return kit.declare(name)
end

-- Declares that of an access-execute machine's matrix unit, as the machine's
-- table has it; gives its name.
function intrin.of_machine(machine)
  if type(machine) ~= "table" or type(machine.matrix) ~= "table" then
    invalid "intrin.of_machine takes a machine's table, as machines.get gives"
  end
  return dae.declare(machine)
end

-- The program that says what it does.
function intrin.description(name)
  find(name)
  return kit.describe(name)
end

-- { name =, family =, summary =, needs = { features } }
function intrin.info(name)
  local x = find(name)
  return { name = name, family = x.family, summary = x.summary,
           needs = table.move(x.needs, 1, #x.needs, 1, {}) }
end

-- Whether a target (a text or a target; nil: this machine) has the features
-- that it needs, those that -mcpu and -mattr imply included.
function intrin.has(name, target)
  local x = find(name)
  if not target or type(target) == "string" then
    target = ts.target(target or "llvm")
  end
  local kind = tostring(target):match "^%S+"
  if x.kind and x.kind ~= kind then return false end
  for _, feature in ipairs(x.needs) do
    if not target:has(feature) then return false end
  end
  return true
end

-- The best dot product of k (4) bytes each that a target has, declared: `types`
-- are those of A and B, "u8s8", "s8s8" or "u8u8".  nil and why there is none.
function intrin.dot(target, types, k)
  for _, name in ipairs(kit.dots[types or "u8s8"] or
                        invalid("there are no dot products of " ..
                                options.quoted(types))) do
    if kit.entries[name].k == (k or 4) and intrin.has(name, target) then
      return kit.declare(name)
    end
  end
  return nil, "the target has no dot products of these types"
end

return intrin
