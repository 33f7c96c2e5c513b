/** What a search for the program says: in the log, and to the user. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import {Environment, Search, Verdict} from './search';

function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function verdictText(verdict: Verdict, wanted: string): string {
  switch (verdict.kind) {
    case 'fits': return `raydbg ${verdict.version}: taken`;
    case 'absent': return 'not there';
    case 'broken': return `does not run: ${verdict.why}`;
    case 'namesake': return 'is another program, of PyPI\'s package raydbg';
    default: return `raydbg ${verdict.version} is ${verdict.kind} than the ${minor(wanted)} that this extension needs`;
  }
}

/** A line for each candidate that was tried; one for the directories of PATH that have none. */
export function searchLines({wanted, tried, environments, program}: Search): string[] {
  const isNone = ({candidate, verdict}: Search['tried'][number]): boolean => candidate.origin === 'on PATH' && verdict.kind === 'absent';
  const none = tried.filter(isNone).map(({candidate}) => path.dirname(candidate.file));
  return [
    `looking for raydbg ${minor(wanted)}`,
    ...tried.filter((one) => !isNone(one)).map(({candidate, verdict}) => `  ${candidate.origin}: ${candidate.file}: ${verdictText(verdict, wanted)}`),
    ...(none.length ? [`  on PATH: not in ${none.join(', ')}`] : []),
    ...(environments?.length === 0 ? ['  no Python environment is selected, in the workspace or in $VIRTUAL_ENV'] : []),
    ...(program ? [] : ['  none fits']),
  ];
}

/** The environment into which raydbg is installed for the user. */
export function installTarget({environments}: Search): Environment | undefined {
  return environments?.[0];
}

/** The command that installs the raydbg that fits; uv makes environments without pip. */
export function installCommand({bin, python}: Environment, wanted: string): string[] {
  const requirement = `raydbg-bridge==${minor(wanted)}.*`;
  const settings = path.join(path.dirname(bin), 'pyvenv.cfg');
  const ofUv = !fs.existsSync(path.join(bin, 'pip')) && fs.existsSync(settings) && /^uv *=/m.test(fs.readFileSync(settings, 'utf8'));
  return ofUv ? ['uv', 'pip', 'install', '--python', python, requirement] : [python, '-m', 'pip', 'install', requirement];
}

/** Why there is no program, and how to get one; undefined if there is one. */
export function searchProblem(search: Search, platform: string): string | undefined {
  const {program, tried, environments = [], wanted} = search;
  if (program) return undefined;
  const chosen = tried.find(({candidate}) => candidate.origin === 'setting raydbg.path');
  if (chosen?.verdict.kind === 'absent') return `the setting raydbg.path names no program: ${chosen.candidate.file}`;
  const unfit = tried.find(({verdict}) => verdict.kind !== 'absent');
  if (unfit) {
    const whose = chosen ? ' (setting raydbg.path)' : '';
    const {kind} = unfit.verdict;
    const said = `${kind === 'older' || kind === 'newer' ? ':' : ''} ${verdictText(unfit.verdict, wanted)}`;
    const advice = kind === 'newer' ? 'update the extension, or ' : kind === 'namesake' ? 'pip uninstall raydbg, and ' : '';
    return `${unfit.candidate.file}${whose}${said}. To get the right one: ${advice}pip install 'raydbg-bridge==${minor(wanted)}.*'`;
  }
  if (platform !== 'linux')
    return 'raydbg runs on Linux: open the folder on a Linux machine (Remote - SSH, WSL, Dev Containers)';
  const where = environments.length ? `neither in the Python environment ${environments.map(({name}) => name).join(', ')} nor on PATH`
    : 'this workspace has no Python environment, and PATH has no raydbg';
  return `raydbg was not found: ${where}. To get it: pip install raydbg-bridge`;
}
