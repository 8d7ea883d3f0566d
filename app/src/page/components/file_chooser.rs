//! The dialog for many files: which one is the trace, which one is the reference, and which belong to both.

use leptos::html::Dialog;

use crate::page::prelude::*;
use crate::protocol::CandidateFile;

/// More files than this are probably the ranks of one job, rather than a trace and its companions.
const MANY: usize = 3;

/// The role of a file in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Target,
    Reference,
}

/// The dialog. It is shown while [`AppState::candidates`] has files.
pub fn file_chooser() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let dialog = NodeRef::<Dialog>::new();
    let is_wanted = RwSignal::new(false);
    show_while(dialog, is_wanted);
    let target = RwSignal::new(None::<usize>);
    let reference = RwSignal::new(None::<usize>);
    let additional = RwSignal::new(Vec::<usize>::new());
    Effect::new(move || {
        let first = state.candidates.with(|files| first_trace(files));
        is_wanted.set(first.is_some());
        target.set(first);
        reference.set(None);
        additional.set(Vec::new());
    });
    let close = move || state.candidates.set(Vec::new());
    let open = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let chosen = [target, reference].map(|one| one.get_untracked());
        let mut chosen: Vec<usize> = chosen.into_iter().flatten().collect();
        let others = additional.get_untracked();
        let others = others.into_iter().filter(|one| !chosen.contains(one));
        let others: Vec<usize> = others.collect();
        chosen.extend(others);
        close();
        engine.open_candidates(&chosen);
    };
    let radio = move |at: usize, role: Role, name: &str| {
        let (group, says, chosen) = match role {
            Role::Target => ("candidate-target", "trace", target),
            Role::Reference => ("candidate-reference", "reference", reference),
        };
        view! {
            <input
                type="radio"
                name=group
                id=format!("{group}-{at}")
                aria-label=format!("{name} is the {says}")
                prop:checked=move || chosen.get() == Some(at)
                on:change=move |_| {
                    chosen.set(Some(at));
                    // A file cannot be both.
                    let other = if role == Role::Target { reference } else { target };
                    if other.get_untracked() == Some(at) {
                        other.set(None);
                    }
                }
            />
        }
    };
    let line = move |(at, file): (usize, CandidateFile)| {
        let name = file.path.clone();
        let is_additional = move || additional.with(|additional| additional.contains(&at));
        view! {
            <tr>
                <th scope="row" class="mono">{file.path.clone()}</th>
                <td class="n">{format::bytes(file.bytes as u64)}</td>
                <td>{radio(at, Role::Target, &name)}</td>
                <td>{radio(at, Role::Reference, &name)}</td>
                <td>
                    <input
                        type="checkbox"
                        id=format!("candidate-beside-{at}")
                        aria-label=format!("{name} is an additional file")
                        prop:checked=is_additional
                        on:change=move |_| additional.update(|additional| crate::page::url::toggle(additional, at))
                    />
                </td>
            </tr>
        }
    };
    let n_files = move || state.candidates.with(Vec::len);
    let as_job = move |class: &'static str| {
        view! {
            <button type="button" id="open-as-job" class=class on:click=move |_| engine.open_candidates_as_job()>
                {format!("Analyze all {} as ranks of one job", n_files())}
            </button>
        }
    };
    let is_many = move || n_files() >= MANY;
    let lines = move || each(state.candidates.get().into_iter().enumerate(), line);
    view! {
        <dialog class="dialog file-chooser" id="file-chooser" aria-labelledby="file-chooser-title" node_ref=dialog on:close=move |_| close()>
            <form novalidate on:submit=open>
                {dialog_header("file-chooser-title", move || format!("{}: which one is the trace?", format::counted(state.candidates.with(Vec::len) as u64, "file")), close)}
                {move || is_many().then(|| view! { <p>{as_job("main")}</p> })}
                <div class="wide" tabindex="0">
                    <table class="list">
                        <thead>
                            <tr>
                                <th scope="col">"File"</th>
                                <th scope="col" class="n">"Size"</th>
                                <th scope="col">"Trace"</th>
                                <th scope="col">"Reference"</th>
                                <th scope="col">"Additional"</th>
                            </tr>
                        </thead>
                        <tbody>{lines}</tbody>
                    </table>
                </div>
                <p class="soft fine">"A reference is optional; the trace is compared with it. Check \u{201c}Additional\u{201d} for graph captures and the model configuration."</p>
                <footer role="presentation">
                    <button type="button" disabled=move || reference.get().is_none() on:click=move |_| reference.set(None)>"No reference"</button>
                    <span class="grow"></span>
                    {move || (!is_many()).then(|| as_job(""))}
                    <button type="button" on:click=move |_| close()>"Cancel"</button>
                    <button type="submit" id="open-candidates" class:main=move || !is_many() disabled=move || target.get().is_none()>"Open"</button>
                </footer>
            </form>
        </dialog>
    }
    .into_any()
}

/// The file that is most likely the trace: the largest.
fn first_trace(files: &[CandidateFile]) -> Option<usize> {
    let sizes = files.iter().map(|file| file.bytes);
    let largest = sizes.enumerate().max_by(|(one, a), (other, b)| {
        // Of equal ones, the first.
        a.total_cmp(b).then(other.cmp(one))
    });
    largest.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_file_is_proposed() {
        let file = |path: &str, bytes| CandidateFile {
            path: path.to_owned(),
            bytes,
        };
        let files = [
            file("a.json", 5.0),
            file("b.json", 9.0),
            file("c.json", 9.0),
        ];
        assert_eq!(first_trace(&files), Some(1));
        assert_eq!(first_trace(&[]), None);
    }
}
