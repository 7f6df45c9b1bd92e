-- SPDX-License-Identifier: Apache-2.0
-- Parameters of modules are declared once: defaults, refusals and the pages of
-- the reference follow, for the library's modules as for one's own.
local ts = require "tessera"
local fails = dofile((arg[0]:gsub("[^/]*$", "../support/checks.lua"))).fails

local function nothing() return nil, "not this one" end

-- ---- each type -------------------------------------------------------------

local mine = ts.module {
  name = "mine", apply = nothing,
  parameters = {
    { "flag", false, "a flag" },
    { "count", 4, "a count", least = 1, most = 8 },
    { "share", 0.5, "a share", type = "number", least = 0, most = 1 },
    { "sizes", { 1, 2 }, "sizes", least = 1 },
    { "more", {}, "more of them", least = 1 },
    { "between", { 2, 4 }, "the least and the most", type = "range" },
    { "word", "one", "a word", words = { "one", "two" } },
    { "some", { "one" }, "some words", words = { "one", "two" } },
    { "scope", "global", "a scope", type = "text" },
    { "even", 2, "an even number", takes = "an even number",
      fits = function(v) return math.type(v) == "integer" and v % 2 == 0 end },
    { "list", { "a" }, "what is in a list" },
    { "free", 1, "whatever" },
    { "desc", nil, "a table, or none", takes = "a table",
      fits = function(v) return type(v) == "table" end },
    { "note", nil, "a text, or none", type = "text" },
  },
}

for _, case in ipairs {
  { { flag = 1 }, "parameter 'flag' is '1': it is true or false" },
  { { count = 0 }, "'count' is '0': it is an integer from 1 to 8" },
  { { count = 9 }, "'count' is '9'" }, { { count = "4" }, "'count' is '4'" },
  { { count = {} }, "'count' is a table" },
  { { share = 2 }, "'share' is '2': it is a number from 0 to 1" },
  { { share = 0 / 0 }, "'share' is '" },
  { { sizes = {} }, "'sizes' is a table: it is a list of integers from 1 on" },
  { { sizes = 3 }, "'sizes' is '3': it is a list of integers from 1 on" },
  { { sizes = { 1, 0 } }, "'sizes[2]' is '0': it is an integer from 1 on" },
  { { sizes = { 1, n = "x" } }, "'sizes' is a list, without a field 'n'" },
  { { more = { 0 } }, "'more[1]' is '0'" },
  { { between = { 1 } }, "'between' is '1': it is { least, most }" },
  { { between = { 3, 2 } }, "it is { least, most }" },
  { { word = "three" }, [['word' is 'three': it is one of "one", "two"]] },
  { { some = { "three" } }, "'some[1]' is 'three'" },
  { { scope = 1 }, "'scope' is '1': it is a text" },
  { { even = 3 }, "'even' is '3': it is an even number" },
  { { list = { "a", b = 1 } }, "'list' is a list, without a field 'b'" },
  { { desc = false }, "'desc' is 'false': it is a table" },
  { { note = 1 }, "'note' is '1': it is a text" },
  { { cuont = 1 }, "it has no parameter 'cuont'; did you mean 'count'?" },
} do
  fails("INVALID", "module 'mine': ", mine, case[1])
  fails("INVALID", case[2], mine, case[1])
end

local made = mine { count = 8.0, sizes = { 4.0 }, more = {}, free = nothing }
assert(math.type(made.params.count) == "integer")
assert(math.type(made.params.sizes[1]) == "integer" and #made.params.more == 0)
assert(made.params.free == nothing and made.params.flag == false)
assert(made.params.desc == nil and made.params.note == nil)
made = mine { desc = { 1 }, note = "x" }
assert(made.params.desc[1] == 1 and made.params.note == "x")

-- ---- declarations ----------------------------------------------------------

for _, case in ipairs {
  { { "x" }, "parameter 1 is a row" }, { { { "x" } }, "parameter 1 is a row" },
  { { { "x", nil } }, "parameter 1 is a row" },
  { { { "x", nil, 1 } }, "parameter 1 is a row" },
  { { { "x", 1 }, { "x", 2 } }, "parameter 'x' is there twice" },
  { { { "x", 1, lest = 1 } }, "parameter 'x' has no field 'lest'" },
  { { { "x", 1, type = "int" } }, "parameter 'x' has no type 'int'" },
  { { x = 1 }, "parameters are a list, without a field 'x'" },
} do
  fails("INVALID", case[2], ts.module,
        { name = "bad", apply = nothing, parameters = case[1] })
end

-- ---- the library's ---------------------------------------------------------

local reference = require "tessera.reference.pages"
for _, name in ipairs(require "tessera.modules.list") do
  local m = require("tessera.modules." .. name)
  local page = reference.page(name)
  m {}
  for _, row in ipairs(m.parameters) do
    assert(row.help ~= "" and page:find("| `" .. row.name .. "` | ", 1, true),
           name .. ": " .. row.name)
    if row.type ~= "any" or row.fits then
      fails("INVALID", ("module '%s': parameter '%s' is a thread: it is %s")
            :format(name, row.name, row.takes), m,
            { [row.name] = coroutine.create(nothing) })
    end
  end
end
