/* SPDX-License-Identifier: Apache-2.0
 * The command `tessera`: a Lua interpreter with the module loaded, for scripts
 * and the prompt; other sub-commands are in Lua (stdlib/command/).
 *
 * Exit status: 0 done; 1 the work failed, one line on stderr says why (also
 * where a file or what else is named is not there); 2 the call was wrong,
 * whatever there is: options, their values, too few arguments or too many; 130,
 * 143 or 129 SIGINT, SIGTERM or SIGHUP ended it, after what it has was saved.
 */
#include "lua/lt.h"
#include "lua/main.h"
#include "lua/warn.h"

#include <fcntl.h>
#include <lualib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was printed is safe from a Ctrl-C that comes while all is put away.  The
 * status of what an ending signal ended, as shells have it; else `status`. */
static int end_interruptible(int status) {
  fflush(stdout);
  int sig = main_stopped_by();
  main_catch_interrupts(0);
  return sig ? 128 + sig : status;
}

/* ---- errors ------------------------------------------------------------- */

/* Skips "FILE:LINE: " at the start when FILE is `own`. */
static const char *skip_place(const char *text, const char *own) {
  size_t n = own ? strlen(own) : 0;
  if (!n || strncmp(text, own, n) || text[n] != ':') return text;
  const char *s = text + n + 1;
  while (*s >= '0' && *s <= '9') s++;
  return s[0] == ':' && s[1] == ' ' ? s + 2 : text;
}

void main_push_error_text(lua_State *L, int i) {
  i = lua_absindex(L, i);
  int type = lua_type(L, i);
  if (type == LUA_TSTRING || type == LUA_TNUMBER ||
      luaL_getmetafield(L, i, "__tostring") != LUA_TNIL)
    luaL_tolstring(L, i, NULL);
  else if (type != LUA_TTABLE || lua_getfield(L, i, "message") != LUA_TSTRING)
    lua_pushfstring(L, "(error object is a %s value)", lua_typename(L, type));
}

/* A call of the engine that the signal cancelled may end before Lua has raised
 * the interrupt, or after it was raised in a module of the space. */
static int is_interrupt(lua_State *L, int i) {
  if (!main_stopped_by() || !lua_istable(L, i)) return 0;
  int type = lua_getfield(L, i, "code");
  int is = type == LUA_TSTRING &&
           !strcmp(lua_tostring(L, -1), tess_status_name(TESS_CANCELLED));
  lua_pop(L, 1);
  return is;
}

/* Turns whatever was raised into text: with --verbose everything, else the
 * first line.  Upvalue 2: the file of the command's own, which is no place
 * that a user wants to hear of. */
static int describe_error(lua_State *L) {
  int verbose = lua_toboolean(L, lua_upvalueindex(1));
  if (lua_istable(L, 1) && lua_getfield(L, 1, "usage") == LUA_TSTRING)
    return lua_settop(L, 1), 1;
  lua_settop(L, 1);
  if (is_interrupt(L, 1)) lua_pushliteral(L, "interrupted"), lua_replace(L, 1);
  main_push_error_text(L, 1);
  lua_pushstring(
      L, skip_place(lua_tostring(L, -1), lua_tostring(L, lua_upvalueindex(2))));
  if (verbose) {
    lt_push_frames(L, lua_tostring(L, -1));
    return 1;
  }
  const char *text = lua_tostring(L, -1), *end = strchr(text, '\n');
  if (end && end > text && end[-1] == ':') end--; /* a list came below */
  if (end) lua_pushlstring(L, text, (size_t)(end - text));
  return 1;
}

/* Pushes the message handler. */
static void push_handler(lua_State *L, const char *own) {
  lua_pushboolean(L, main_options.verbose);
  lua_pushstring(L, own);
  lua_pushcclosure(L, describe_error, 2);
}

/* Says what the error at the top means; the exit status. */
static int report_error(lua_State *L) {
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "usage");
    fprintf(stderr, "tessera: %s\n", lua_tostring(L, -1));
    return 2;
  }
  const char *text = lua_tostring(L, -1);
  fprintf(stderr, "tessera: %s\n", text ? text : "unknown error");
  return 1;
}

/* ---- the state ---------------------------------------------------------- */

static int open_tessera(lua_State *L) {
  return tess_lua_open(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* The parts in Lua stand relative to the executable, in the build tree and
 * when installed. */
static void set_path(lua_State *L) {
  char exe[4096];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n < 0) return;
  exe[n] = '\0';
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(exe, '/');
    if (slash) *slash = '\0';
  }
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/lib/lua/?.lua;%s/share/lua/5.4/?.lua;%s", exe, exe,
                  lua_tostring(L, -1));
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

static lua_State *new_state(tess_context *c) {
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  luaL_openlibs(L);
  set_path(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushlightuserdata(L, c);
  lua_pushcclosure(L, open_tessera, 1);
  lua_setfield(L, -2, "tessera");
  lua_pop(L, 1);
  return L;
}

/* ---- the sub-commands --------------------------------------------------- */

static const char *const commands[] = {
    "tune",  "step", "show",   "diff",  "db",    "lower", "build",
    "model", "doc",  "report", "watch", "agent", "fleet"};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

static int is_command(const char *word) {
  for (size_t i = 0; i < NCOMMANDS; i++)
    if (!strcmp(commands[i], word)) return 1;
  return 0;
}

/* May the word be a command of which a letter is wrong, missing, or one too
 * many, or the beginning of one? */
static int is_nearly(const char *word, const char *command) {
  size_t n = strlen(word), m = strlen(command), head = 0, tail = 0;
  while (word[head] && word[head] == command[head]) head++;
  if (head == n) return n > 1;
  while (tail < n - head && tail < m - head &&
         word[n - 1 - tail] == command[m - 1 - tail])
    tail++;
  size_t rest = n > m ? n - head - tail : m - head - tail;
  int swapped = n == m && rest == 2 && word[head] == command[head + 1] &&
                word[head + 1] == command[head];
  return rest <= 1 || swapped;
}

/* Adds to the error at the top which commands there are, where a word may have
 * been meant as one. */
static void add_commands(lua_State *L, const char *word) {
  if (strpbrk(word, "./") || !access(word, F_OK)) return;
  size_t near = 0;
  while (near < NCOMMANDS && !is_nearly(word, commands[near])) near++;
  if (near < NCOMMANDS)
    lua_pushfstring(L, "; did you mean '%s'? The commands are ",
                    commands[near]);
  else
    lua_pushliteral(L, "; commands are ");
  for (size_t i = 0; i < NCOMMANDS; i++)
    lua_pushfstring(L, "%s%s", i ? ", " : "", commands[i]);
  lua_concat(L, NCOMMANDS + 2);
}

/* ---- doing -------------------------------------------------------------- */

/* A list of the arguments from argv[i] on; those before them at 0, -1, ... */
static void push_args(lua_State *L, int argc, char **argv, int i) {
  lua_createtable(L, argc - i, i);
  for (int k = 0; k < argc; k++) {
    lua_pushstring(L, argv[k]);
    lua_seti(L, -2, k - i + 1);
  }
}

static int run_script(lua_State *L, int argc, char **argv, int i) {
  push_args(L, argc, argv, i + 1);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "arg");
  if (luaL_loadfile(L, argv[i]) != LUA_OK) {
    add_commands(L, argv[i]);
    return report_error(L);
  }
  push_handler(L, NULL);
  lua_insert(L, -2);
  int base = lua_gettop(L) - 1, n = argc - i - 1;
  luaL_checkstack(L, n + 4, "too many arguments");
  for (int k = 1; k <= n; k++) lua_pushstring(L, argv[i + k]);
  main_catch_interrupts(1);
  int bad = lua_pcall(L, n, 0, base), status = bad ? report_error(L) : 0;
  int ended = end_interruptible(status);
  return bad ? ended : status;
}

/* Ctrl-C ends a command that waits for a line from a pipe; on the terminal
 * it abandons what was typed, as at the prompt. */
static int read_line(lua_State *L) {
  char *line;
  int abandoned;
  main_hold_interrupts(1);
  main_catch_interrupts(0);
  do line = main_read_line(luaL_optstring(L, 1, ""), &abandoned);
  while (abandoned);
  main_catch_interrupts(1);
  main_hold_interrupts(0);
  if (!line) return 0;
  lua_pushstring(L, line);
  free(line);
  return 1;
}

/* wait(seconds): true as soon as a line was typed on the terminal; false after
 * that time, or where a signal came. */
static int wait_for_line(lua_State *L) {
  double seconds = luaL_checknumber(L, 1);
  struct pollfd typed = {0, POLLIN, 0};
  fflush(stdout);
  int n = poll(&typed, isatty(0) ? 1 : 0, (int)(seconds * 1e3));
  lua_pushboolean(L, n > 0);
  return 1;
}

static int complete_commands(lua_State *L) { /* (words) */
  main_complete_commands(luaL_checkstring(L, 1));
  return 0;
}

/* What `tessera --help` says, or that of a command; help.lua knows. */
static int print_help(lua_State *L, const char *command) {
  push_handler(L, NULL);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tessera.command.help");
  if (lua_pcall(L, 1, 1, 1)) return report_error(L);
  lua_getfield(L, -1, command ? "page" : "index");
  lua_pushstring(L, command);
  if (lua_pcall(L, 1, 1, 1)) return report_error(L);
  puts(lua_tostring(L, -1));
  return 0;
}

/* The command's file gives a function (args, host) -> exit status; true: it
 * ended well, though by a signal.  The others' are not loaded. */
static int run_command(lua_State *L, int argc, char **argv, int i) {
  lua_Debug ar;
  push_handler(L, NULL);
  lua_getglobal(L, "require");
  lua_pushfstring(L, "tessera.command.%s", argv[i]);
  if (lua_pcall(L, 1, 1, 1)) return report_error(L);
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  push_handler(L, ar.short_src);
  lua_insert(L, -2);
  int handler = lua_gettop(L) - 1;
  push_args(L, argc, argv, i + 1);
  lua_createtable(L, 0, 6);
  lua_pushcfunction(L, read_line);
  lua_setfield(L, -2, "read_line");
  lua_pushcfunction(L, complete_commands);
  lua_setfield(L, -2, "complete");
  lua_pushcfunction(L, wait_for_line);
  lua_setfield(L, -2, "wait");
  lua_pushboolean(L, isatty(0));
  lua_setfield(L, -2, "terminal");
  lua_pushboolean(L, isatty(1));
  lua_setfield(L, -2, "screen");
  lua_pushboolean(L, main_options.verbose);
  lua_setfield(L, -2, "verbose");
  main_catch_interrupts(1);
  int bad = lua_pcall(L, 2, 1, handler);
  int status = lua_isinteger(L, -1) ? (int)lua_tointeger(L, -1) : 0;
  int well = !bad && lua_isboolean(L, -1) && lua_toboolean(L, -1);
  int ended = end_interruptible(bad ? report_error(L) : status);
  return well ? 0 : ended;
}

main_option_set main_options;

static int wants_help(int argc, char **argv) {
  int ours = argc > 1 && (argv[1][0] == '-' || is_command(argv[1]));
  for (int i = 1; ours && i < argc; i++)
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return 1;
  return 0;
}

static void unknown_option(const char *option) {
  fprintf(stderr,
          "tessera: unknown option %s (tessera --help says what "
          "there is)\n",
          option);
}

/* Options before the script or sub-command; the index of what follows, or
 * -1 when the call is wrong.  --verbose may stand anywhere in front of a
 * script's name and anywhere in a sub-command. */
static int read_command_options(int *argc, char **argv) {
  int command = 0, n = 1;
  for (int i = 1; i < *argc; i++) {
    int plain = argv[i][0] != '-' || !argv[i][1];
    int ours = !command || is_command(argv[command]);
    if (ours && !strcmp(argv[i], "--verbose"))
      main_options.verbose = 1;
    else
      argv[n++] = argv[i];
    if (!command && plain) command = n - 1;
  }
  *argc = n;
  if (command <= 1) return command;
  if (!wants_help(*argc, argv)) unknown_option(argv[1]);
  return -1;
}

static int out_of_memory(void) {
  fprintf(stderr, "tessera: out of memory\n");
  return 1;
}

/* Where a standard stream was closed by the caller, a file or socket of ours
 * would get its number, and what is printed.  Using the stream fails still. */
static void guard_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 &&
        open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      _exit(1);
}

/* What the command does in a state of its own; the exit status.  at: of the
 * script or sub-command, 0: there is none. */
static int run_in_state(int argc, char **argv, int at) {
  int status;
  tess_context *c;
  lt_warnings warnings = {.text = NULL};
  const tess_options o = {
      .struct_size = sizeof o, .log = warn_or_keep, .log_ud = &warnings};
  if (tess_context_new(&o, &c) != TESS_OK) return out_of_memory();
  lua_State *L = new_state(c);
  if (!L) return tess_context_free(c), out_of_memory();
  main_let_stop(L, c);
  lua_pushlightuserdata(L, &warnings);
  lua_setfield(L, LUA_REGISTRYINDEX, LT_WARNINGS);
  lt_set_verbose(L, main_options.verbose);
  signal(SIGXFSZ, SIG_IGN); /* a write over the limit fails, as on a full
                             * disk, instead of ending the process */
  if (wants_help(argc, argv))
    status = print_help(L, is_command(argv[1]) ? argv[1] : NULL);
  else if (!at)
    status = main_prompt(L);
  else if (is_command(argv[at]))
    status = run_command(L, argc, argv, at);
  else
    status = run_script(L, argc, argv, at);
  lua_close(L);
  tess_context_free(c);
  free(warnings.text);
  return status;
}

/* With --verbose also each build option, a line each. */
static int print_version(void) {
  const char *name, *value;
  printf("tessera %s (%s)\n", tess_version(), tess_build_info());
  for (uint32_t i = 0;
       main_options.verbose && (name = tess_build_option(i, &value)); i++)
    printf("  %-10s  %s\n", name, value);
  return 0;
}

static int dispatch(int argc, char **argv) {
  int at = read_command_options(&argc, argv);
  if (wants_help(argc, argv)) return run_in_state(argc, argv, 0);
  if (at < 0) return 2;
  if (at || argc == 1) return run_in_state(argc, argv, at);
  if (strcmp(argv[1], "--version")) return unknown_option(argv[1]), 2;
  return print_version();
}

int main(int argc, char **argv) {
  guard_streams();
  int status = dispatch(argc, argv);
  if ((fflush(stdout) || ferror(stdout)) && !status) {
    fprintf(stderr, "tessera: writing the output failed\n");
    status = 1;
  }
  return status;
}
