-- SPDX-License-Identifier: Apache-2.0
-- Schedules blocks that ask for a rule of their own, by the annotation
-- "schedule_rule" with the name of the rule, before other modules see them
-- (MetaSchedule's ApplyCustomRule).
--
-- A rule returns what `apply` of a module does.  The annotation stays, and no
-- other module is applied to the block.  A block whose annotation is "None" is
-- left as it is; one whose rule is not there loses the annotation, and other
-- modules schedule it.
local ts = require "tessera"
local options = require "tessera.lang.options"

return ts.module {
  name = "apply_custom_rule",
  parameters = {
    { "rules", {}, "rule(sch, block) of each name",
      takes = "a table of functions",
      fits = function(v) return type(v) == "table" end },
  },
  check = function(p)
    for name, rule in pairs(p.rules) do
      if type(name) ~= "string" or type(rule) ~= "function" then
        return ("parameter 'rules': %s is %s: rules are functions with names")
               :format(options.quoted(name), options.quoted(rule))
      end
    end
  end,
  custom = true,
  apply = function(sch, block, p)
    local asked = sch:annotation(block, "schedule_rule")
    if not asked then return nil, "it asks for no rule" end
    local name = asked:match '^"(.*)"$' or asked
    if name == "None" then return nil, "it asks to be left as it is" end
    local rule = p.rules[name]
    if rule then return rule(sch, block) end
    sch:unannotate(block, "schedule_rule")
    return sch, ("there is no rule '%s', other modules schedule it")
                :format(name)
  end,
}
