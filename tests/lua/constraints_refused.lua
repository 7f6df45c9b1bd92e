-- SPDX-License-Identifier: Apache-2.0
-- Constraints of molds that are wrong: the message names the user's line.
local template = require "tessera.template"

-- Checks what a mold with the constraint is refused for; line: of this file.
local function refused(constraint, line, text)
  local ok, e = pcall(template.mold, {
    parameters = { { name = "kind", values = { "x", "y" } },
                   { name = "a", values = { 1, 2, 4 } },
                   { name = "v", values = { 4, 8 } } },
    constraint = constraint, apply = function() end })
  assert(not ok, text)
  assert(e.code == "INVALID", e)
  local where = ("constraints_refused.lua:%d"):format(line)
  assert(e.message:find(where, 1, true), e.message)
  assert(e.message:find(text, 1, true), e.message)
end

local function here() return debug.getinfo(2, "l").currentline end

-- The line that reads what there is not.
refused(function(p)
  return p.a ~= 1 and
         p.nothing
end, here() - 1, "there is no parameter 'nothing'")
refused(function(p) return p.nothing ~= 1 end, here(),
        "there is no parameter 'nothing'")

-- What would count as true whatever it is: a forgotten comparison.
refused(function(p) return p.a end, here(), "returns true or false, not the " ..
        "number 1")
refused({ function(p) return p.a * p.v < 16 end,
          function(p) return p.v % 4 end }, here(),
        "returns true or false, not the number 0")
refused(function() return "no" end, here(), "returns true or false, not")
refused(function(p) return p.kind == "x" or p.v % 4 end, here(),
        "returns true or false, not the number 0")

-- nil is false, and true is not needed of combinations that it excludes.
assert(template.mold {
  parameters = { { name = "a", values = { 1, 2 } } },
  constraint = function(p) if p.a == 2 then return true end end,
  apply = function() end })
