-- SPDX-License-Identifier: Apache-2.0
-- The schema of a fleet: a queue of batches of jobs, the devices that measure
-- them, and what came of each job.
--
-- A part that begins with "-- migration N" is run once, in order; the last,
-- "-- functions", whenever the schema is brought up to date (fleet/schema.c).
--
-- Nobody but the owner has rights on tables.  The roles tessera_submit,
-- tessera_build, tessera_run and tessera_admin may call functions, which run
-- with the owner's rights.  Only the server's clock counts.
--
-- A batch is claimed under a lease: a token, and a time until which it holds.
-- Every later call names the token, so that who lost the lease changes nothing.

-- migration 1

CREATE TABLE fleet.setting (name text PRIMARY KEY, value float8 NOT NULL);
INSERT INTO fleet.setting VALUES
  ('lease', 30),      -- seconds
  ('patience', 60),   -- seconds that a session may be silent
  ('slow', 5),        -- times the median of its key: a device is too slow
  ('attempts', 3);    -- failures of the machinery until a job is given up

CREATE TABLE fleet.key (
  name text PRIMARY KEY,
  stopped text,                 -- why; NULL: it works
  woken timestamptz NOT NULL DEFAULT '-infinity',
  reference float8,             -- seconds that times are normalised to
  digest text, digest_of text   -- of the health kernel's outputs; by whom
);

CREATE TABLE fleet.device (
  name text PRIMARY KEY,
  key text NOT NULL,
  role text NOT NULL,           -- build, run or both
  target text NOT NULL,
  env jsonb NOT NULL,           -- what its times depend on
  version text NOT NULL,        -- of the engine
  quarantined text,             -- why; NULL: it is not
  paused boolean NOT NULL DEFAULT false,
  draining boolean NOT NULL DEFAULT false,
  failures int NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  first_reference float8, reference float8,
  added timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE fleet.agent (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  device text NOT NULL REFERENCES fleet.device,
  key text NOT NULL,
  role text NOT NULL,
  host text NOT NULL,
  pid int NOT NULL,
  gone boolean NOT NULL DEFAULT false,
  turn bigint NOT NULL DEFAULT 0,       -- the session that it served last
  floor bigint NOT NULL DEFAULT 0,      -- and the batch's place in the queue
  seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX agent_alone ON fleet.agent (device) WHERE NOT gone;
CREATE INDEX agent_of_key ON fleet.agent (key) WHERE NOT gone;

CREATE TABLE fleet.session (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  secret uuid NOT NULL DEFAULT gen_random_uuid(),
  owner name NOT NULL,
  key text NOT NULL,
  program text NOT NULL,
  most int NOT NULL,            -- jobs in flight
  closed boolean NOT NULL DEFAULT false,
  opened timestamptz NOT NULL DEFAULT now(),
  seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX session_open ON fleet.session (key) WHERE NOT closed;

-- Contents by their SHA-256: programs, traces, tensors, object code.
CREATE TABLE fleet.object (
  hash bytea PRIMARY KEY,
  bytes bytea NOT NULL,
  used timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE fleet.object ALTER bytes SET STORAGE EXTERNAL;

-- What the jobs of a workload share; equal contents are one task.
CREATE TABLE fleet.task (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  hash bytea NOT NULL UNIQUE,
  body jsonb NOT NULL
);

CREATE SEQUENCE fleet.turn;
CREATE SEQUENCE fleet.swept;    -- the second of the last sweep
CREATE TABLE fleet.batch (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  session bigint NOT NULL,
  nonce bigint NOT NULL,        -- the submission, counted by the session
  task bigint NOT NULL,
  key text NOT NULL,
  kind text NOT NULL,           -- measure, compare or rematch
  best float8 NOT NULL,
  stage text NOT NULL DEFAULT 'build',  -- what it waits for: build or run
  state text NOT NULL DEFAULT 'queued', -- queued, leased, done or dropped
  turn bigint NOT NULL DEFAULT nextval('fleet.turn'),
  token uuid, agent uuid, device text, expires timestamptz,
  claimed timestamptz, queued timestamptz NOT NULL DEFAULT now(),
  excluded text[] NOT NULL DEFAULT '{}',
  refused jsonb NOT NULL DEFAULT '{}',
  reference float8
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_threshold = 500);
CREATE INDEX batch_queued ON fleet.batch (session, stage, turn)
  WHERE state = 'queued';
CREATE INDEX batch_leased ON fleet.batch (expires) WHERE state = 'leased';
CREATE INDEX batch_of_agent ON fleet.batch (agent) WHERE state = 'leased';
CREATE INDEX batch_nonce ON fleet.batch (session, nonce);

CREATE TABLE fleet.job (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  batch bigint NOT NULL,
  at int NOT NULL,              -- in the batch
  body jsonb NOT NULL,          -- the candidate
  object bytea, signature bytea, built jsonb, -- by a build agent
  done boolean NOT NULL DEFAULT false,
  lost text[] NOT NULL DEFAULT '{}',    -- devices that were lost with it
  failed text[] NOT NULL DEFAULT '{}'   -- whose machinery failed
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX job_of_batch ON fleet.job (batch, at);

CREATE TABLE fleet.result (
  job bigint NOT NULL,
  session bigint NOT NULL,
  task bigint NOT NULL,
  candidate bytea NOT NULL,     -- hash of the job's body
  key text NOT NULL,
  device text, env jsonb,       -- NULL: of none
  status text NOT NULL,
  seconds float8,               -- as measured
  normal float8,                -- and as a device of the key's reference
  reference float8,             -- the reference kernel took with this lease
  checked boolean NOT NULL DEFAULT false,
  token uuid,
  reused bigint,                -- the job whose result this was first
  body jsonb NOT NULL,
  made timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (job)
) PARTITION BY RANGE (job);
CREATE INDEX result_of_candidate ON fleet.result (task, candidate);

-- Claims, finishes and losses, in order; what fleet.check() reads.
CREATE TABLE fleet.event (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT now(),
  what text NOT NULL,
  batch bigint, job bigint, token uuid, device text, why text
);
CREATE INDEX event_of_batch ON fleet.event (batch);
CREATE INDEX event_by_time ON fleet.event (at);

-- functions

CREATE OR REPLACE FUNCTION fleet.schema_version() RETURNS int
LANGUAGE sql STABLE AS 'SELECT 1';

CREATE OR REPLACE FUNCTION fleet.setting_of(text) RETURNS float8
LANGUAGE sql STABLE AS 'SELECT value FROM fleet.setting WHERE name = $1';

CREATE OR REPLACE FUNCTION fleet.lease() RETURNS interval
LANGUAGE sql STABLE AS
  $$SELECT fleet.setting_of('lease') * interval '1 second'$$;

-- A refusal: a state that the client can do something about has a code.
CREATE OR REPLACE FUNCTION fleet.refuse_call(code text, why text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = why;
END $$;

CREATE OR REPLACE FUNCTION fleet.note(what text, b fleet.batch, job bigint,
                                      why text DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO fleet.event (what, batch, job, token, device, why)
  VALUES (what, b.id, job, b.token, b.device, why)
$$;

-- ---- what is known of devices -----------------------------------------------

-- Devices of a key that take work of a stage now.
CREATE OR REPLACE FUNCTION fleet.at_work(k text, stage text)
RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT a.device FROM fleet.agent a JOIN fleet.device d ON d.name = a.device
  WHERE a.key = k AND NOT a.gone AND a.seen > now() - 3 * fleet.lease()
    AND d.quarantined IS NULL AND NOT d.paused AND NOT d.draining
    AND a.role IN ('both', stage)
$$;

-- The key stops when a third of its devices, and more than one, is out.
CREATE OR REPLACE FUNCTION fleet.quarantine(dev text, reason text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  k text;
  bad int; total int;
BEGIN
  UPDATE fleet.device SET quarantined = reason
  WHERE name = dev AND quarantined IS NULL RETURNING key INTO k;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO fleet.event (what, device, why)
  VALUES ('quarantine', dev, reason);
  SELECT count(*) FILTER (WHERE d.quarantined IS NOT NULL), count(*)
  INTO bad, total FROM fleet.device d
  WHERE d.key = k AND d.role <> 'build'
    AND (d.quarantined IS NOT NULL OR EXISTS (SELECT FROM fleet.agent a
         WHERE a.device = d.name AND NOT a.gone));
  IF bad > 1 AND bad * 3 >= total THEN
    UPDATE fleet.key SET stopped = format(
      '%s of the %s devices of key ''%s'' are quarantined; the last: %s: %s',
      bad, total, k, dev, reason)
    WHERE name = k AND stopped IS NULL;
  END IF;
END $$;

-- The machinery of a device failed: five times without a result between are
-- too many.
CREATE OR REPLACE FUNCTION fleet.blame(dev text, why text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  UPDATE fleet.device SET failures = failures + 1 WHERE name = dev
  RETURNING failures INTO n;
  IF n >= 5 THEN
    PERFORM fleet.quarantine(dev,
      format('%s failures in a row; the last: %s', n, why));
  END IF;
END $$;

-- The reference kernel's time on a device.
CREATE OR REPLACE FUNCTION fleet.take_reference(dev text, k text, t float8)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE typical float8; n int;
BEGIN
  UPDATE fleet.key SET reference = t WHERE name = k AND reference IS NULL;
  UPDATE fleet.device
  SET reference = t, first_reference = coalesce(first_reference, t)
  WHERE name = dev;
  SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY reference), count(*)
  INTO typical, n FROM fleet.device
  WHERE key = k AND name <> dev AND reference IS NOT NULL
    AND quarantined IS NULL;
  IF n > 1 AND t > typical * fleet.setting_of('slow') THEN
    PERFORM fleet.quarantine(dev, format(
      'its reference kernel takes %s times the median of key ''%s''',
      round((t / typical)::numeric, 1), k));
  END IF;
END $$;

-- ---- agents -----------------------------------------------------------------

CREATE OR REPLACE FUNCTION fleet.may(role text) RETURNS boolean
LANGUAGE sql STABLE AS
  $$SELECT pg_has_role(session_user, 'tessera_' || role, 'member')$$;

-- An agent says who it is; p: device, key, role, target, env, version, host,
-- pid.  An agent of that device that is alive keeps it.
CREATE OR REPLACE FUNCTION fleet.hello(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  dev text := p->>'device';
  other fleet.agent;
  d fleet.device;
  made uuid;
BEGIN
  IF (p->>'role' <> 'run' AND NOT fleet.may('build')) OR
     (p->>'role' <> 'build' AND NOT fleet.may('run')) THEN
    PERFORM fleet.refuse_call('TF001', format(
      'user ''%s'' may not be an agent with the role ''%s''',
      session_user, p->>'role'));
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('fleet.device ' || dev));
  SELECT * INTO other FROM fleet.agent WHERE device = dev AND NOT gone;
  IF FOUND AND other.seen > now() - 2 * fleet.lease() AND
     (other.host, other.pid) IS DISTINCT FROM
     (p->>'host', (p->>'pid')::int) THEN
    PERFORM fleet.refuse_call('TF002', format(
      'there is an agent named ''%s'' already: process %s on %s, seen %s s '
      'ago', dev, other.pid, other.host,
      round(extract(epoch FROM now() - other.seen), 1)));
  END IF;
  UPDATE fleet.agent SET gone = true WHERE device = dev AND NOT gone;
  INSERT INTO fleet.key (name) VALUES (p->>'key') ON CONFLICT DO NOTHING;
  INSERT INTO fleet.device (name, key, role, target, env, version)
  VALUES (dev, p->>'key', p->>'role', p->>'target', p->'env', p->>'version')
  ON CONFLICT (name) DO UPDATE SET
    key = excluded.key, role = excluded.role, target = excluded.target,
    env = excluded.env, version = excluded.version, draining = false,
    first_reference = CASE WHEN device.env = excluded.env
                           THEN device.first_reference END
  RETURNING * INTO d;
  INSERT INTO fleet.agent (device, key, role, host, pid)
  VALUES (dev, p->>'key', p->>'role', p->>'host', (p->>'pid')::int)
  RETURNING id INTO made;
  RETURN jsonb_build_object('agent', made,
    'lease', fleet.setting_of('lease'), 'channel', fleet.channel(d.key));
END $$;

CREATE OR REPLACE FUNCTION fleet.channel(k text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$SELECT 'fleet_' || md5(k)$$;

-- The agent of that id, which is touched now and then.
CREATE OR REPLACE FUNCTION fleet.agent_of(id uuid) RETURNS fleet.agent
LANGUAGE plpgsql AS $$
DECLARE a fleet.agent;
BEGIN
  SELECT * INTO a FROM fleet.agent x WHERE x.id = agent_of.id AND NOT x.gone;
  IF NOT FOUND THEN
    PERFORM fleet.refuse_call('TF003', 'the agent is not known any more');
  END IF;
  IF a.seen < now() - fleet.lease() / 3 THEN
    UPDATE fleet.agent x SET seen = now() WHERE x.id = a.id;
  END IF;
  RETURN a;
END $$;

-- The health kernel's result: seconds, and a digest of its outputs, which are
-- the same on every device; NULL: it has none.  why: it could not be run.
CREATE OR REPLACE FUNCTION fleet.health(id uuid, seconds float8, digest text,
                                        why text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  k fleet.key;
  state text;
BEGIN
  UPDATE fleet.key SET digest = health.digest, digest_of = a.device
  WHERE name = a.key AND key.digest IS NULL AND health.digest IS NOT NULL;
  SELECT * INTO k FROM fleet.key WHERE name = a.key;
  IF why IS NOT NULL THEN
    PERFORM fleet.quarantine(a.device, 'its health kernel failed: ' || why);
  ELSIF health.digest <> k.digest THEN
    PERFORM fleet.quarantine(a.device, format(
      'its health kernel gives other outputs than on %s', k.digest_of));
  ELSIF seconds IS NOT NULL THEN
    PERFORM fleet.take_reference(a.device, a.key, seconds);
  END IF;
  SELECT quarantined INTO state FROM fleet.device WHERE name = a.device;
  RETURN state;
END $$;

CREATE OR REPLACE FUNCTION fleet.bye(id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE b fleet.batch;
BEGIN
  FOR b IN SELECT * FROM fleet.batch
           WHERE agent = bye.id AND state = 'leased' FOR UPDATE LOOP
    PERFORM fleet.give_back(b, 'returned', NULL);
  END LOOP;
  UPDATE fleet.agent SET gone = true WHERE agent.id = bye.id;
END $$;

-- ---- the life of a batch ----------------------------------------------------

CREATE OR REPLACE FUNCTION fleet.mark_done(b fleet.batch) RETURNS void
LANGUAGE sql AS $$
  UPDATE fleet.batch SET state = 'done', expires = NULL
  WHERE id = b.id AND NOT EXISTS
    (SELECT FROM fleet.job WHERE batch = b.id AND NOT done)
$$;

-- The one result of a job.
CREATE OR REPLACE FUNCTION fleet.conclude(b fleet.batch, j fleet.job,
  status text, body jsonb, env jsonb DEFAULT NULL, ref float8 DEFAULT NULL,
  reused bigint DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO fleet.result (job, session, task, candidate, key, device, env,
    status, seconds, normal, reference, checked, token, reused, body)
  SELECT j.id, b.session, b.task, sha256(convert_to(j.body::text, 'UTF8')),
    b.key, b.device, env, status, (body->>'seconds')::float8,
    (body->>'seconds')::float8 * coalesce(k.reference / ref, 1), ref,
    coalesce((body->>'checked')::boolean, false), b.token, reused, body
  FROM fleet.key k WHERE k.name = b.key;
  UPDATE fleet.job SET done = true WHERE id = j.id;
$$;

CREATE OR REPLACE FUNCTION fleet.conclude_rest(b fleet.batch, status text,
                                               why text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE j fleet.job;
BEGIN
  FOR j IN SELECT * FROM fleet.job WHERE batch = b.id AND NOT done LOOP
    PERFORM fleet.conclude(b, j, status, jsonb_build_object('message', why));
  END LOOP;
  PERFORM fleet.mark_done(b);
END $$;

-- A leased batch goes back to the queue's end.  'lost': its agent is; the first
-- job without a result is suspected, and with two devices it is the job's
-- fault.
CREATE OR REPLACE FUNCTION fleet.give_back(b fleet.batch, how text, why text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE j fleet.job;
BEGIN
  PERFORM fleet.note(how, b, NULL, why);
  IF how = 'lost' THEN
    PERFORM fleet.blame(b.device, 'its agent was lost in the middle of a job');
    UPDATE fleet.job SET lost = CASE WHEN b.device = ANY (lost) THEN lost
                                     ELSE lost || b.device END
    WHERE id = (SELECT id FROM fleet.job WHERE batch = b.id AND NOT done
                ORDER BY at LIMIT 1)
    RETURNING * INTO j;
    IF cardinality(j.lost) > 1 THEN
      PERFORM fleet.conclude(b, j, 'CRASHED', jsonb_build_object('message',
        format('the agents of %s were lost while they ran it',
               array_to_string(j.lost, ' and '))));
    END IF;
  END IF;
  UPDATE fleet.batch SET state = 'queued', turn = nextval('fleet.turn'),
    token = NULL, agent = NULL, expires = NULL, queued = now(),
    reference = NULL,
    excluded = CASE WHEN how = 'returned' OR b.device = ANY (excluded)
                    THEN excluded ELSE excluded || b.device END
  WHERE id = b.id;
  PERFORM fleet.mark_done(b);
END $$;

-- Leases that ran out; whoever comes first in a second sweeps, nobody waits for
-- another.  (A sequence is of no transaction, and leaves no dead rows.)
CREATE OR REPLACE FUNCTION fleet.sweep() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b fleet.batch;
  second bigint := extract(epoch FROM clock_timestamp());
BEGIN
  IF (SELECT last_value FROM fleet.swept) >= second THEN RETURN; END IF;
  PERFORM setval('fleet.swept', second);
  FOR b IN SELECT * FROM fleet.batch
           WHERE state = 'leased' AND expires < now()
           ORDER BY expires LIMIT 64 FOR UPDATE SKIP LOCKED LOOP
    PERFORM fleet.give_back(b, 'lost', NULL);
  END LOOP;
END $$;

-- The first batch of a session behind a place in the queue.  A device that a
-- batch left takes it again only where there is no other.
CREATE OR REPLACE FUNCTION fleet.first_batch(a fleet.agent, s bigint,
  stage text, place bigint) RETURNS fleet.batch LANGUAGE plpgsql AS $$
DECLARE b fleet.batch;
BEGIN
  SELECT * INTO b FROM fleet.batch q
  WHERE q.session = s AND q.stage = first_batch.stage AND q.state = 'queued'
    AND q.turn > place
    AND (NOT a.device = ANY (q.excluded) OR NOT EXISTS
         (SELECT FROM fleet.at_work(a.key, first_batch.stage) w (device)
          WHERE NOT w.device = ANY (q.excluded)))
  ORDER BY q.turn LIMIT 1 FOR UPDATE SKIP LOCKED;
  RETURN b;
END $$;

-- The batch that an agent works on next: of the session after the one that it
-- served last.  What stands before the batch that it had last is others', as a
-- rule, and where vacuum is held back dead rows; so it looks behind that first,
-- and from the queue's beginning where nothing is there, and now and then.
CREATE OR REPLACE FUNCTION fleet.next_batch(a fleet.agent, stage text)
RETURNS fleet.batch LANGUAGE plpgsql AS $$
DECLARE
  s bigint;
  b fleet.batch;
  place bigint := CASE WHEN random() < 0.02 THEN 0 ELSE a.floor END;
BEGIN
  FOR s IN
    SELECT se.id FROM fleet.session se
    WHERE se.key = a.key AND NOT se.closed
      AND se.seen > now() - fleet.setting_of('patience') * interval '1 second'
    ORDER BY se.id <= a.turn, se.id
  LOOP
    b := fleet.first_batch(a, s, stage, place);
    IF b.id IS NULL AND place > 0 THEN
      b := fleet.first_batch(a, s, stage, 0);
    END IF;
    EXIT WHEN b.id IS NOT NULL;
  END LOOP;
  RETURN b;
END $$;

-- A batch as its agent sees it: the jobs without a result.
CREATE OR REPLACE FUNCTION fleet.show_batch(b fleet.batch) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('batch', b.id, 'token', b.token, 'kind', b.kind,
    'stage', b.stage, 'best', b.best, 'session', b.session,
    'baseline', (SELECT k.reference FROM fleet.key k WHERE k.name = b.key),
    'task', t.body || jsonb_build_object('id', t.id),
    'jobs', (SELECT jsonb_agg(j.body || jsonb_strip_nulls(jsonb_build_object(
               'id', j.id, 'object', encode(j.object, 'hex'),
               'signature', encode(j.signature, 'hex'), 'built', j.built))
               ORDER BY j.at)
             FROM fleet.job j WHERE j.batch = b.id AND NOT j.done))
  FROM fleet.task t WHERE t.id = b.task
$$;

-- NULL: there is nothing to do; else a batch, or {"rest": why not}.  A claim
-- whose answer was lost is answered again.
CREATE OR REPLACE FUNCTION fleet.claim(id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  d fleet.device;
  b fleet.batch;
  why text;
BEGIN
  PERFORM fleet.sweep();
  SELECT * INTO b FROM fleet.batch
  WHERE agent = a.id AND state = 'leased' FOR UPDATE;
  IF FOUND THEN RETURN fleet.show_batch(b); END IF;
  SELECT * INTO d FROM fleet.device WHERE name = a.device;
  SELECT stopped INTO why FROM fleet.key WHERE name = a.key;
  IF d.draining THEN RETURN '{"rest": "drain"}'; END IF;
  IF d.paused THEN RETURN '{"rest": "paused"}'; END IF;
  IF d.quarantined IS NOT NULL THEN
    RETURN jsonb_build_object('rest', 'quarantined: ' || d.quarantined);
  END IF;
  IF why IS NOT NULL THEN RETURN jsonb_build_object('rest', why); END IF;
  b := fleet.next_batch(a, CASE a.role WHEN 'run' THEN 'run' ELSE 'build' END);
  IF b.id IS NULL THEN RETURN NULL; END IF;
  UPDATE fleet.batch SET state = 'leased', token = gen_random_uuid(),
    agent = a.id, device = a.device, claimed = now(),
    expires = now() + fleet.lease()
  WHERE batch.id = b.id RETURNING * INTO b;
  UPDATE fleet.agent SET turn = b.session, floor = b.turn, seen = now()
  WHERE agent.id = a.id;
  PERFORM fleet.note('claim', b, NULL);
  RETURN fleet.show_batch(b);
END $$;

-- The batch, locked, if that token still holds it.
CREATE OR REPLACE FUNCTION fleet.held(batch bigint, token uuid)
RETURNS fleet.batch LANGUAGE plpgsql AS $$
DECLARE b fleet.batch;
BEGIN
  SELECT * INTO b FROM fleet.batch x
  WHERE x.id = held.batch AND x.token = held.token
    AND x.state IN ('leased', 'done') FOR UPDATE;
  RETURN b;
END $$;

-- False: the lease is lost.
CREATE OR REPLACE FUNCTION fleet.renew(id uuid, batch bigint, token uuid)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fleet.agent_of(id);
  UPDATE fleet.batch x SET expires = now() + fleet.lease()
  WHERE x.id = renew.batch AND x.token = renew.token AND x.state = 'leased';
  RETURN FOUND;
END $$;

-- A job of another batch is nobody's.
CREATE OR REPLACE FUNCTION fleet.job_in(b fleet.batch, job bigint)
RETURNS fleet.job LANGUAGE plpgsql AS $$
DECLARE j fleet.job;
BEGIN
  SELECT * INTO j FROM fleet.job x WHERE x.id = job_in.job AND x.batch = b.id;
  IF NOT FOUND THEN
    PERFORM fleet.refuse_call('TF001',
      format('job %s is not of batch %s', job, b.id));
  END IF;
  RETURN j;
END $$;

-- taken; again: it was before, under this token; stale: the lease is lost.
CREATE OR REPLACE FUNCTION fleet.finish(id uuid, batch bigint, token uuid,
                                        job bigint, result jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
  j fleet.job;
  ref float8 := (result->>'reference')::float8;
BEGIN
  IF b.id IS NULL THEN
    INSERT INTO fleet.event (what, batch, job, token, device)
    VALUES ('stale', batch, job, token, a.device);
    RETURN 'stale';
  END IF;
  j := fleet.job_in(b, job);
  IF j.done THEN RETURN 'again'; END IF;
  IF ref > 0 AND b.reference IS NULL THEN
    PERFORM fleet.take_reference(a.device, a.key, ref);
    UPDATE fleet.batch x SET reference = ref WHERE x.id = b.id;
  END IF;
  PERFORM fleet.conclude(b, j, result->>'status', result - 'status',
    (SELECT env FROM fleet.device WHERE name = a.device), ref);
  PERFORM fleet.note('finish', b, job);
  UPDATE fleet.device SET done = done + 1, failures = 0 WHERE name = a.device;
  PERFORM fleet.mark_done(b);
  RETURN 'taken';
END $$;

-- A job was built; when all of a batch are, it waits for a device that runs
-- them.
CREATE OR REPLACE FUNCTION fleet.built(id uuid, batch bigint, token uuid,
  job bigint, object bytea, signature bytea, built jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
  j fleet.job;
BEGIN
  IF b.id IS NULL OR b.state = 'done' THEN RETURN 'stale'; END IF;
  j := fleet.job_in(b, job);
  UPDATE fleet.job x SET object = built.object, signature = built.signature,
    built = built.built WHERE x.id = j.id;
  PERFORM fleet.note('built', b, job);
  RETURN 'taken';
END $$;

CREATE OR REPLACE FUNCTION fleet.pass_on(id uuid, batch bigint, token uuid)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
BEGIN
  IF b.id IS NULL OR b.state = 'done' THEN RETURN 'stale'; END IF;
  PERFORM fleet.note('passed', b, NULL);
  UPDATE fleet.device SET failures = 0 WHERE name = a.device;
  UPDATE fleet.batch x SET stage = 'run', state = 'queued', queued = now(),
    turn = nextval('fleet.turn'), token = NULL, agent = NULL, expires = NULL
  WHERE x.id = b.id;
  RETURN 'taken';
END $$;

-- A job that failed as often as it may, for whatever reason, has that result.
CREATE OR REPLACE FUNCTION fleet.give_up(b fleet.batch, j fleet.job, why text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT j.done AND
     cardinality(j.failed) >= fleet.setting_of('attempts') THEN
    PERFORM fleet.conclude(b, j, 'INFRA', jsonb_build_object('message', why));
  END IF;
END $$;

-- The machinery failed at a job: it counts against the device, and the job is
-- done elsewhere, a few times.
CREATE OR REPLACE FUNCTION fleet.fail(id uuid, batch bigint, token uuid,
                                      job bigint, why text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
  j fleet.job;
BEGIN
  IF b.id IS NULL OR b.state = 'done' THEN RETURN 'stale'; END IF;
  j := fleet.job_in(b, job);
  PERFORM fleet.blame(a.device, why);
  UPDATE fleet.job x SET failed = failed || a.device WHERE x.id = j.id
  RETURNING * INTO j;
  PERFORM fleet.give_up(b, j, why);
  PERFORM fleet.give_back(b, 'failed', why);
  RETURN 'taken';
END $$;

-- An object is not what a build agent made: nobody runs it, and it is built
-- again, a few times.
CREATE OR REPLACE FUNCTION fleet.reject(id uuid, batch bigint, token uuid,
                                        job bigint, why text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
  j fleet.job;
BEGIN
  IF b.id IS NULL OR b.state = 'done' THEN RETURN 'stale'; END IF;
  j := fleet.job_in(b, job);
  UPDATE fleet.job x SET failed = failed || text 'an altered object'
  WHERE x.id = j.id RETURNING * INTO j;
  UPDATE fleet.job x SET object = NULL, signature = NULL, built = NULL
  WHERE x.batch = b.id;
  PERFORM fleet.give_up(b, j, why);
  UPDATE fleet.batch x SET stage = 'build' WHERE x.id = b.id RETURNING * INTO b;
  PERFORM fleet.give_back(b, 'returned', why);
  RETURN 'taken';
END $$;

-- The device cannot honour the task, and says why; nobody is to blame.
CREATE OR REPLACE FUNCTION fleet.refuse(id uuid, batch bigint, token uuid,
                                        why text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  a fleet.agent := fleet.agent_of(id);
  b fleet.batch := fleet.held(batch, token);
BEGIN
  IF b.id IS NULL OR b.state = 'done' THEN RETURN 'stale'; END IF;
  UPDATE fleet.batch x
  SET refused = refused || jsonb_build_object(a.device, why)
  WHERE x.id = b.id RETURNING * INTO b;
  PERFORM fleet.give_back(b, 'refused', why);
  IF NOT EXISTS (SELECT FROM fleet.at_work(a.key, b.stage) w (device)
                 WHERE NOT b.refused ? w.device) THEN
    PERFORM fleet.conclude_rest(b, 'UNSUPPORTED',
      (SELECT string_agg(key || ': ' || value, '; ')
       FROM jsonb_each_text(b.refused)));
  END IF;
  RETURN 'taken';
END $$;

-- ---- objects ----------------------------------------------------------------

CREATE OR REPLACE FUNCTION fleet.put(bytes bytea) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO fleet.object (hash, bytes) VALUES (sha256(put.bytes), put.bytes)
  ON CONFLICT (hash) DO UPDATE SET used = now(), bytes = excluded.bytes
    WHERE object.used < now() - interval '1 hour'
       OR object.bytes <> excluded.bytes;
  RETURN encode(sha256(put.bytes), 'hex');
END $$;

CREATE OR REPLACE FUNCTION fleet.get(hash text) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
  $$SELECT bytes FROM fleet.object WHERE object.hash = decode($1, 'hex')$$;

-- ---- sessions ---------------------------------------------------------------

-- Refuses a key of which nobody is at work.
CREATE OR REPLACE FUNCTION fleet.need_devices(k text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM fleet.at_work(k, 'run')) THEN RETURN; END IF;
  PERFORM fleet.refuse_call('TF004', format(
    'no agent of key ''%s'' is at work; at work are %s', k, coalesce(
      (SELECT string_agg(DISTINCT name, ', ') FROM fleet.key x
       WHERE EXISTS (SELECT FROM fleet.at_work(x.name, 'run'))), 'none')));
END $$;

-- The target of a key's devices: the one that most of them have.
CREATE OR REPLACE FUNCTION fleet.target_of(k text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fleet.need_devices(k);
  RETURN (SELECT target FROM fleet.device
    WHERE name IN (SELECT fleet.at_work(k, 'run'))
    GROUP BY target ORDER BY count(*) DESC, target LIMIT 1);
END $$;

-- p: key, program, most.
CREATE OR REPLACE FUNCTION fleet.open_session(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  k text := p->>'key';
  why text;
  s fleet.session;
BEGIN
  SELECT stopped INTO why FROM fleet.key WHERE name = k;
  IF why IS NOT NULL THEN PERFORM fleet.refuse_call('TF005', why); END IF;
  PERFORM fleet.need_devices(k);
  INSERT INTO fleet.session (owner, key, program, most)
  VALUES (session_user, k, p->>'program', (p->>'most')::int)
  RETURNING * INTO s;
  RETURN jsonb_build_object('session', s.id, 'secret', s.secret,
    'agents', (SELECT count(*) FROM fleet.at_work(k, 'run')));
END $$;

CREATE OR REPLACE FUNCTION fleet.session_of(id bigint, secret uuid)
RETURNS fleet.session LANGUAGE plpgsql AS $$
DECLARE s fleet.session;
BEGIN
  SELECT * INTO s FROM fleet.session x
  WHERE x.id = session_of.id AND x.secret = session_of.secret
    AND NOT x.closed;
  IF NOT FOUND THEN
    PERFORM fleet.refuse_call('TF001', 'there is no such session');
  END IF;
  IF s.seen < now() - fleet.setting_of('patience') / 10 * interval '1 second'
  THEN
    UPDATE fleet.session x SET seen = now() WHERE x.id = s.id;
  END IF;
  RETURN s;
END $$;

CREATE OR REPLACE FUNCTION fleet.close_session(id bigint, secret uuid)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE s fleet.session := fleet.session_of(id, secret);
BEGIN
  UPDATE fleet.batch SET state = 'dropped'
  WHERE session = s.id AND state = 'queued';
  UPDATE fleet.session x SET closed = true WHERE x.id = s.id;
END $$;

-- Room for the results of jobs up to that one.
CREATE OR REPLACE FUNCTION fleet.make_room(upto bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  many constant bigint := 1000000;
  n bigint := upto / many;
BEGIN
  FOR i IN greatest(n - 1, 0) .. n LOOP
    IF to_regclass('fleet.result_' || i) IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtext('fleet.result'));
      EXECUTE format('CREATE TABLE IF NOT EXISTS fleet.result_%s '
        'PARTITION OF fleet.result FOR VALUES FROM (%s) TO (%s)',
        i, i * many, (i + 1) * many);
    END IF;
  END LOOP;
END $$;

-- A result of an earlier session on a device like one that is at work.
CREATE OR REPLACE FUNCTION fleet.recall(b fleet.batch, j fleet.job,
                                        checked boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE r fleet.result;
BEGIN
  SELECT * INTO r FROM fleet.result x
  WHERE x.task = b.task AND x.key = b.key AND x.status = 'OK'
    AND x.candidate = sha256(convert_to(j.body::text, 'UTF8'))
    AND (x.checked OR NOT recall.checked)
    AND x.env IN (SELECT env FROM fleet.device WHERE name IN
                  (SELECT fleet.at_work(b.key, 'run')))
  ORDER BY x.job DESC LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  b.device := r.device;
  PERFORM fleet.conclude(b, j, r.status, r.body, r.env, r.reference,
                         coalesce(r.reused, r.job));
END $$;

-- A task whose contents are known is that one.
CREATE OR REPLACE FUNCTION fleet.task_of(body jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  h bytea := sha256(convert_to(body::text, 'UTF8'));
  found_id bigint;
BEGIN
  SELECT id INTO found_id FROM fleet.task WHERE hash = h;
  IF FOUND THEN RETURN found_id; END IF;
  INSERT INTO fleet.task (hash, body) VALUES (h, task_of.body)
  ON CONFLICT (hash) DO NOTHING;
  SELECT id INTO found_id FROM fleet.task WHERE hash = h;
  RETURN found_id;
END $$;

-- Jobs in order, `chunk` a batch; a submission whose answer was lost is
-- answered again.  p: nonce, task, kind, best, chunk, jobs, excluded, checked.
CREATE OR REPLACE FUNCTION fleet.submit(id bigint, secret uuid, p jsonb)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  s fleet.session := fleet.session_of(id, secret);
  n int := jsonb_array_length(p->'jobs');
  chunk int := greatest((p->>'chunk')::int, 1);
  t bigint; b fleet.batch; j fleet.job; ids bigint[]; busy bigint;
BEGIN
  SELECT array_agg(x.id ORDER BY x.id) INTO ids
  FROM fleet.job x JOIN fleet.batch y ON y.id = x.batch
  WHERE y.session = s.id AND y.nonce = (p->>'nonce')::bigint;
  IF ids IS NOT NULL THEN RETURN ids; END IF;
  SELECT count(*) INTO busy FROM fleet.job x JOIN fleet.batch y
    ON y.id = x.batch WHERE NOT x.done AND y.session = s.id
    AND y.state IN ('queued', 'leased');
  IF busy + n > s.most THEN
    PERFORM fleet.refuse_call('TF001', format(
      'the session has %s jobs in flight, and may have %s', busy, s.most));
  END IF;
  t := fleet.task_of(p->'task');
  FOR i IN 0 .. n - 1 LOOP
    IF i % chunk = 0 THEN
      IF i > 0 THEN PERFORM fleet.mark_done(b); END IF;
      INSERT INTO fleet.batch (session, nonce, task, key, kind, best, excluded)
      VALUES (s.id, (p->>'nonce')::bigint, t, s.key, p->>'kind',
        (p->>'best')::float8, coalesce((SELECT array_agg(x) FROM
          jsonb_array_elements_text(p->'excluded') x), '{}'))
      RETURNING * INTO b;
    END IF;
    INSERT INTO fleet.job (batch, at, body)
    VALUES (b.id, i % chunk, p->'jobs'->i) RETURNING * INTO j;
    IF i = 0 THEN PERFORM fleet.make_room(j.id + n); END IF;
    ids := ids || j.id;
    IF b.kind = 'measure' THEN
      PERFORM fleet.recall(b, j, (p->>'checked')::boolean);
    END IF;
  END LOOP;
  PERFORM fleet.mark_done(b);
  PERFORM fleet.wake(s.key);
  RETURN ids;
END $$;

-- At most once a second; who was not woken looks by itself.
CREATE OR REPLACE FUNCTION fleet.wake(k text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM fleet.key WHERE name = k AND woken < now() - interval '1 second'
    FOR UPDATE SKIP LOCKED;
  IF FOUND THEN
    UPDATE fleet.key SET woken = now() WHERE name = k;
    PERFORM pg_notify(fleet.channel(k), '');
  END IF;
END $$;

-- What is known of these jobs, and how the key is.
CREATE OR REPLACE FUNCTION fleet.collect(id bigint, secret uuid, jobs bigint[])
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE s fleet.session := fleet.session_of(id, secret);
BEGIN
  PERFORM fleet.sweep();
  RETURN jsonb_build_object(
    'stopped', (SELECT stopped FROM fleet.key WHERE name = s.key),
    'agents', (SELECT count(*) FROM fleet.at_work(s.key, 'run')),
    'results', (SELECT coalesce(jsonb_agg(r.body || jsonb_build_object(
       'job', r.job, 'status', r.status, 'normal', r.normal,
       'device', r.device, 'env', r.env, 'reused', r.reused)), '[]')
     FROM fleet.result r WHERE r.job = ANY (jobs) AND r.session = s.id));
END $$;

-- ---- seeing and steering it -------------------------------------------------

CREATE OR REPLACE FUNCTION fleet.status() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object(
    'schema', fleet.schema_version(), 'lease', fleet.setting_of('lease'),
    'keys', coalesce((SELECT jsonb_agg(jsonb_build_object('key', k.name,
        'stopped', k.stopped,
        'devices', (SELECT count(*) FROM fleet.at_work(k.name, 'run')),
        'queued', (SELECT count(*) FROM fleet.batch b
                   WHERE b.key = k.name AND b.state = 'queued'),
        'leased', (SELECT count(*) FROM fleet.batch b
                   WHERE b.key = k.name AND b.state = 'leased'),
        'minute', (SELECT count(*) FROM fleet.event e
                   JOIN fleet.device d ON d.name = e.device
                   WHERE e.what = 'finish' AND d.key = k.name
                     AND e.at > now() - interval '1 minute'))
        ORDER BY k.name) FROM fleet.key k), '[]'),
    'devices', coalesce((SELECT jsonb_agg(jsonb_build_object(
        'device', d.name, 'key', d.key, 'role', d.role, 'target', d.target,
        'env', d.env, 'version', d.version, 'quarantined', d.quarantined,
        'paused', d.paused, 'draining', d.draining, 'failures', d.failures,
        'done', d.done, 'drift', d.reference / d.first_reference,
        'alive', a.id IS NOT NULL AND a.seen > now() - 3 * fleet.lease(),
        'host', a.host, 'pid', a.pid,
        'seen', extract(epoch FROM now() - a.seen)::float8,
        'session', b.session, 'batch', b.id, 'program', s.program,
        'since', extract(epoch FROM now() - b.claimed)::float8)
        ORDER BY d.key, d.name)
      FROM fleet.device d
      LEFT JOIN fleet.agent a ON a.device = d.name AND NOT a.gone
      LEFT JOIN fleet.batch b ON b.agent = a.id AND b.state = 'leased'
      LEFT JOIN fleet.session s ON s.id = b.session), '[]'),
    'sessions', coalesce((SELECT jsonb_agg(jsonb_build_object(
        'session', s.id, 'owner', s.owner, 'key', s.key,
        'program', s.program,
        'seen', extract(epoch FROM now() - s.seen)::float8,
        'queued', (SELECT count(*) FROM fleet.batch b
                   WHERE b.session = s.id AND b.state = 'queued'))
        ORDER BY s.id)
      FROM fleet.session s WHERE NOT s.closed AND s.seen > now() -
        fleet.setting_of('patience') * interval '1 second'), '[]'))
$$;

-- A device by its name, or all of a key.
CREATE OR REPLACE FUNCTION fleet.named(p jsonb) RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT d.name FROM fleet.device d
    WHERE d.name = p->>'name' OR d.key = p->>'name';
  IF NOT FOUND THEN
    PERFORM fleet.refuse_call('TF001', format(
      'there is no device or key ''%s''', p->>'name'));
  END IF;
END $$;

CREATE OR REPLACE FUNCTION fleet.pause(p jsonb) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH u AS (UPDATE fleet.device
             SET paused = coalesce((p->>'on')::boolean, true)
             WHERE name IN (SELECT fleet.named(p)) RETURNING name)
  SELECT jsonb_agg(name) FROM u
$$;

CREATE OR REPLACE FUNCTION fleet.drain(p jsonb) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH u AS (UPDATE fleet.device SET draining = true
             WHERE name IN (SELECT fleet.named(p)) RETURNING name)
  SELECT jsonb_agg(name) FROM u
$$;

-- Quarantine ends, and a key that stopped goes on.
CREATE OR REPLACE FUNCTION fleet.retry(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE names jsonb;
BEGIN
  WITH u AS (UPDATE fleet.device SET quarantined = NULL, paused = false,
               failures = 0
             WHERE name IN (SELECT fleet.named(p)) RETURNING name)
  SELECT jsonb_agg(name) INTO names FROM u;
  UPDATE fleet.key SET stopped = NULL WHERE name IN
    (SELECT key FROM fleet.device WHERE name IN (SELECT fleet.named(p)));
  RETURN names;
END $$;

-- What is older than so many seconds: sessions with their batches, events,
-- agents that are gone, objects that nothing uses.  Results stay, but for
-- partitions that are older as a whole.
CREATE OR REPLACE FUNCTION fleet.gc(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  old timestamptz := now() - (p->>'age')::float8 * interval '1 second';
  nsession bigint; nbatch bigint; nevent bigint; nobject bigint;
  npart int := 0; part regclass; young boolean; doomed bigint[];
BEGIN
  DELETE FROM fleet.session WHERE seen < old;
  GET DIAGNOSTICS nsession = ROW_COUNT;
  doomed := ARRAY(SELECT b.id FROM fleet.batch b LEFT JOIN fleet.session s
    ON s.id = b.session WHERE s.id IS NULL AND b.state <> 'leased');
  DELETE FROM fleet.job WHERE batch = ANY (doomed);
  DELETE FROM fleet.batch WHERE id = ANY (doomed);
  GET DIAGNOSTICS nbatch = ROW_COUNT;
  DELETE FROM fleet.event WHERE at < old;
  GET DIAGNOSTICS nevent = ROW_COUNT;
  DELETE FROM fleet.agent WHERE gone AND seen < old;
  DELETE FROM fleet.object o WHERE used < old AND NOT EXISTS
    (SELECT FROM fleet.job j WHERE j.object = o.hash OR
       j.body->>'trace' = encode(o.hash, 'hex'))
    AND NOT EXISTS (SELECT FROM fleet.batch b JOIN fleet.task t
      ON t.id = b.task WHERE t.body->>'program' = encode(o.hash, 'hex')
      OR t.body->>'inputs' = encode(o.hash, 'hex'));
  GET DIAGNOSTICS nobject = ROW_COUNT;
  FOR part IN SELECT inhrelid FROM pg_inherits
              WHERE inhparent = 'fleet.result'::regclass LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE made >= $1) OR '
                   'NOT EXISTS (SELECT FROM %s)', part, part)
      INTO young USING old;
    IF NOT young THEN
      EXECUTE format('DROP TABLE %s', part);
      npart := npart + 1;
    END IF;
  END LOOP;
  RETURN jsonb_build_object('sessions', nsession, 'batches', nbatch,
    'events', nevent, 'objects', nobject, 'partitions', npart);
END $$;

CREATE OR REPLACE FUNCTION fleet.metrics() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_object(
    'oldest', coalesce((SELECT extract(epoch FROM now() - min(queued))::float8
      FROM fleet.batch WHERE state = 'queued'), 0),
    'queued', (SELECT count(*) FROM fleet.batch WHERE state = 'queued'),
    'leased', (SELECT count(*) FROM fleet.batch WHERE state = 'leased'),
    'lost', (SELECT count(*) FROM fleet.event WHERE what = 'lost'),
    'stale', (SELECT count(*) FROM fleet.event WHERE what = 'stale'),
    'finished', (SELECT count(*) FROM fleet.event WHERE what = 'finish'),
    'dead_rows', (SELECT coalesce(jsonb_object_agg(relname, n_dead_tup), '{}')
      FROM pg_stat_user_tables
      WHERE schemaname = 'fleet' AND relname !~ '^result_'),
    'waits', (SELECT jsonb_build_object(
        'median', percentile_cont(0.5) WITHIN GROUP (ORDER BY w),
        'p99', percentile_cont(0.99) WITHIN GROUP (ORDER BY w))
      FROM (SELECT extract(epoch FROM claimed - queued)::float8 AS w
            FROM fleet.batch WHERE claimed > now() - interval '10 minutes')
        x WHERE w >= 0),
    'devices', coalesce((SELECT jsonb_agg(jsonb_build_object('device', name,
        'key', key, 'drift', reference / first_reference, 'done', done,
        'failures', failures, 'quarantined', quarantined IS NOT NULL)
        ORDER BY name) FROM fleet.device), '[]'))
$$;

-- A user of one of the roles, with limits on its time; p: name, role,
-- password.
CREATE OR REPLACE FUNCTION fleet.add(p jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = p->>'name') THEN
    EXECUTE format('CREATE ROLE %I LOGIN', p->>'name');
  END IF;
  IF p ? 'password' THEN
    EXECUTE format('ALTER ROLE %I PASSWORD %L', p->>'name', p->>'password');
  END IF;
  EXECUTE format('ALTER ROLE %I SET statement_timeout = ''10s''', p->>'name');
  EXECUTE format('ALTER ROLE %I SET lock_timeout = ''5s''', p->>'name');
  EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = '
                 '''10s''', p->>'name');
  FOREACH r IN ARRAY string_to_array(p->>'role', ',') LOOP
    EXECUTE format('GRANT %I TO %I', 'tessera_' || r, p->>'name');
  END LOOP;
  RETURN p - 'password';
END $$;

-- What the history shows to be wrong: nothing, always.
CREATE OR REPLACE FUNCTION fleet.check()
RETURNS TABLE (what text, batch bigint, job bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT 'a job that is done has no result', j.batch, j.id FROM fleet.job j
  WHERE j.done AND NOT EXISTS (SELECT FROM fleet.result r WHERE r.job = j.id)
  UNION ALL
  SELECT 'a job that is not done has a result', j.batch, j.id FROM fleet.job j
  JOIN fleet.result r ON r.job = j.id WHERE NOT j.done
  UNION ALL
  SELECT 'a batch is done and its job is not', j.batch, j.id FROM fleet.job j
  JOIN fleet.batch b ON b.id = j.batch WHERE NOT j.done AND b.state = 'done'
  UNION ALL
  SELECT 'all jobs are done and their batch is not', b.id, NULL
  FROM fleet.batch b WHERE b.state IN ('queued', 'leased') AND NOT EXISTS
    (SELECT FROM fleet.job j WHERE j.batch = b.id AND NOT j.done)
  UNION ALL
  SELECT 'a job was finished twice', min(e.batch), e.job FROM fleet.event e
  WHERE e.what = 'finish' GROUP BY e.job HAVING count(*) > 1
  UNION ALL
  SELECT 'a result was taken that nobody had claimed', f.batch, f.job
  FROM fleet.event f WHERE f.what = 'finish' AND NOT EXISTS
    (SELECT FROM fleet.event c WHERE c.what = 'claim' AND c.batch = f.batch
       AND c.token = f.token AND c.id < f.id)
  UNION ALL
  SELECT 'a result was taken under an old token', f.batch, f.job
  FROM fleet.event f JOIN fleet.event c ON c.batch = f.batch
    AND c.what = 'claim' AND c.token = f.token
  WHERE f.what = 'finish' AND EXISTS (SELECT FROM fleet.event x
    WHERE x.batch = f.batch AND x.id > c.id AND x.id < f.id
      AND x.what IN ('claim', 'lost', 'returned', 'failed', 'refused'))
  UNION ALL
  SELECT 'a lease ran out long ago', b.id, NULL FROM fleet.batch b
  WHERE b.state = 'leased' AND b.expires < now() - 10 * fleet.lease()
    AND EXISTS (SELECT FROM fleet.at_work(b.key, b.stage))
$$;

-- ---- rights -----------------------------------------------------------------

DO $$
DECLARE r text;
BEGIN
  FOREACH r IN ARRAY ARRAY['submit', 'build', 'run', 'admin'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tessera_' || r) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', 'tessera_' || r);
    END IF;
  END LOOP;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA fleet FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fleet FROM PUBLIC;
GRANT USAGE ON SCHEMA fleet
  TO tessera_submit, tessera_build, tessera_run, tessera_admin;
GRANT EXECUTE ON FUNCTION fleet.schema_version()
  TO tessera_submit, tessera_build, tessera_run, tessera_admin;
GRANT EXECUTE ON FUNCTION fleet.hello(jsonb), fleet.bye(uuid),
  fleet.claim(uuid), fleet.renew(uuid, bigint, uuid),
  fleet.finish(uuid, bigint, uuid, bigint, jsonb),
  fleet.fail(uuid, bigint, uuid, bigint, text),
  fleet.refuse(uuid, bigint, uuid, text),
  fleet.reject(uuid, bigint, uuid, bigint, text),
  fleet.health(uuid, float8, text, text), fleet.get(text)
  TO tessera_build, tessera_run;
GRANT EXECUTE ON FUNCTION fleet.put(bytea) TO tessera_build, tessera_submit;
GRANT EXECUTE ON FUNCTION
  fleet.built(uuid, bigint, uuid, bigint, bytea, bytea, jsonb),
  fleet.pass_on(uuid, bigint, uuid) TO tessera_build;
GRANT EXECUTE ON FUNCTION fleet.open_session(jsonb),
  fleet.close_session(bigint, uuid), fleet.target_of(text),
  fleet.submit(bigint, uuid, jsonb), fleet.collect(bigint, uuid, bigint[])
  TO tessera_submit;
GRANT EXECUTE ON FUNCTION fleet.status(), fleet.metrics(), fleet.check()
  TO tessera_submit, tessera_build, tessera_run, tessera_admin;
GRANT EXECUTE ON FUNCTION fleet.pause(jsonb), fleet.drain(jsonb),
  fleet.retry(jsonb), fleet.gc(jsonb) TO tessera_admin;
