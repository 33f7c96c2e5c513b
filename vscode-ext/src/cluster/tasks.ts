/** Tasks of type "raydbg": a relay's port is brought here, and raydbg's own commands have a terminal. */
import * as net from 'node:net';
import * as vscode from 'vscode';
import {makeTask, runTask} from '../base/task';
import {Forward, defaultPort, forwardCommand, parseForward} from './forward';

/** Those of tasks.json. */
export class ForwardTasks implements vscode.TaskProvider {
  provideTasks(): vscode.Task[] {
    return [];
  }

  resolveTask(task: vscode.Task): vscode.Task | undefined {
    const forward = parseForward(task.definition);
    if (!forward) return undefined;
    const made = makeTask(task.name, task.definition, task.scope ?? vscode.TaskScope.Workspace, forwardCommand(forward));
    made.isBackground = true;
    return made;
  }
}

/** The first free port here, from the relay's own on. */
async function freePort(): Promise<number> {
  for (let port = defaultPort; port < defaultPort + 100; port++) if (await isFree(port)) return port;
  throw new Error(`the ports from ${defaultPort} on are all taken`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}

/** Asks how and where, starts the task, and resolves with the port here once it is open; undefined: the user gave up. */
export async function forwardPort(): Promise<{forward: Forward; port: number} | undefined> {
  const ways = [
    {label: 'SSH', way: 'ssh' as const, prompt: 'The head node, as ssh takes it: USER@HOST, or a name of your ~/.ssh/config', example: 'me@head.example.org'},
    {label: 'kubectl', way: 'kubectl' as const, prompt: 'What the relay runs in, as kubectl port-forward takes it', example: 'svc/raycluster-head-svc -n ray'},
  ];
  const chosen = await vscode.window.showQuickPick(ways, {title: 'Bring a relay\'s port here with'});
  if (!chosen) return undefined;
  const target = await vscode.window.showInputBox({title: 'Where does the relay run?', prompt: chosen.prompt, placeHolder: chosen.example, ignoreFocusOut: true});
  if (!target?.trim()) return undefined;
  const port = await freePort();
  const forward: Forward = {forward: chosen.way, target: target.trim(), port};
  await runTask(`${chosen.label} ${target.trim()}`, {type: 'raydbg', ...forward}, forwardCommand(forward), {}, true);
  for (let tries = 0; tries < 100; tries++) {
    if (await answers(port)) return {forward, port};
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${chosen.label} has not opened port ${port} within 20 s: its terminal says why`);
}
