-- SPDX-License-Identifier: Apache-2.0
-- Spaces by named parameters: templates with knobs, as AutoTVM has them, and
-- code molds, as ytopt has them.  Both are a thin layer over sampling: a knob
-- whose values are integers is a sampling instruction, and one that changes
-- which steps there are (an order of loops, an annotation, a word, a parameter
-- that others depend on, an integer that the function branches on) makes a
-- sketch for each of its values.
--
-- template.space(program, f) is the space of f(cfg, sch); template.mold(m) that
-- of a table { parameters =, forbid =, constraint =,
-- apply = function(sch, p) }.
local knobs = require "tessera.template.knobs"
local molds = require "tessera.template.molds"

return { space = knobs.space, mold = molds.mold }
