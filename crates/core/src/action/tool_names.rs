//! Known tool names, as data. Lookup ignores case and punctuation, so `TodoWrite`, `todo_write` and
//! `todowrite` are equal.

use super::ToolKind::{self, *};

/// Kind of a tool by its name alone.
pub(super) fn kind_of(name: &str) -> Option<ToolKind> {
    let name = normalize_name(name);
    TOOL_KINDS_BY_NAME
        .iter()
        .find(|(_, names)| names.split_ascii_whitespace().any(|known| known == name))
        .map(|(kind, _)| *kind)
}

/// Lower case letters and digits of a name.
pub(super) fn normalize_name(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[rustfmt::skip]
const TOOL_KINDS_BY_NAME: &[(ToolKind, &str)] = &[
    (Shell, "bash shell sh zsh powershell pwsh cmd terminal localshell localshellcall containerexec shellcommand \
      shelltool execcommand executecommand executebash runshellcommand runbash runcommand runterminalcmd \
      runterminalcommand runinterminal executeshell executeshellcommand developershell runcmd command python \
      ipython jupyter pythonexecute executepython executepythoncell executeipythoncell runpython pythontool \
      pythoninterpreter codeinterpreter codeexecution executecode runcode repl nodejs runtests runtest \
      testrunner"),
    (Read, "read readfile readfiles readmanyfiles readrange view viewfile viewimage viewrange open openfile cat \
      catfile getfilecontents filecontents ls listdir listdirectory listfiles listfolder notebookread \
      readfolder scrolldown scrollup goto inspectfileastext listcodedefinitionnames readlints getdiagnostics \
      diagnostics lsp fetchrules readthreadterminal"),
    (Edit, "edit editfile multiedit applypatch applydiff patch strreplace replace replaceinfile searchreplace \
      searchandreplace insert insertcontent editnotebook notebookedit editfilebyreplace editfilebyline \
      insertcontentatline appendfile jsonedittool undoedit reapply morpheditfile renamesymbol replacesymbolbody"),
    (Write, "write writefile writetofile create createfile newfile savefile deletefile removefile movefile"),
    (Search, "grep grepsearch glob globsearch find findfile findfiles filesearch search searchfiles searchfile \
      searchdir searchcode searchcodebase codebasesearch codesearch searchfilecontent semanticsearch ripgrep \
      websearch googlewebsearch searchpattern findsymbol searchsymbol workspacesymbol exasearch \
      sourcegraph listcodeusages"),
    (Fetch, "webfetch fetch fetchurl fetchwebpage readurl geturl urlfetch visitwebpage download"),
    (SubAgent, "task agent subagent spawnagent dispatchagent delegate newtask runsubagent sendmessage sendinput \
      calltoagent runagent"),
    (Plan, "todowrite todoread todo todos todolist writetodos managetodolist updatetodolist updateplan plan \
      createplan planning taskcreate taskupdate tasklist taskget tasktracker think thinking sequentialthinking \
      expresshypothesis savememory memory updatememory enterplanmode exitplanmode planmode skill reportintent \
      storememory setgoal notepad scratchpad toolsearch"),
    (Poll, "taskoutput bashoutput agentoutput getterminaloutput readbash readshell readprocess getprocessoutput \
      checkcommandstatus commandstatus waitagent wait waitfor sleep listagents listbash awaitshell \
      schedulewakeup monitor taskstop killshell killbash stopbash"),
    (Finish, "finish submit done complete completed taskdone taskcomplete attemptcompletion terminate exit finalanswer \
      goalsaccomplished goalaccomplished submitsolution completetask stop"),
    (Ask, "askuserquestion askuser askfollowupquestion askquestion question askhuman requestuserinput userinput \
      messageaskuser"),
    (Other, "writestdin"),
];
