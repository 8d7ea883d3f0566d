//! The dialog for many files: which one is the trace, which one is the reference, and which belong to both.

use leptos::html::Dialog;

use crate::page::prelude::*;
use crate::page::url::toggle;
use crate::protocol::CandidateFile;

/// More files than this are probably the ranks of one job, rather than a trace and its companions.
const MANY: usize = 3;

/// The chosen files, by position. `Copy`, so pass it around.
#[derive(Clone, Copy)]
struct Chosen {
    target: RwSignal<Option<usize>>,
    reference: RwSignal<Option<usize>>,
    /// Files that belong to both.
    additional: RwSignal<Vec<usize>>,
}

impl Chosen {
    /// The files, the target first.
    fn files(self) -> Vec<usize> {
        let traces = [self.target, self.reference].map(|one| one.get_untracked());
        let mut files: Vec<usize> = traces.into_iter().flatten().collect();
        for at in self.additional.get_untracked() {
            if !files.contains(&at) {
                files.push(at);
            }
        }
        files
    }
}

/// The dialog. It is shown while [`AppState::candidates`] has files.
pub fn file_chooser() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let dialog = NodeRef::<Dialog>::new();
    let first = move || state.candidates.with(|files| first_trace(files));
    show_while(dialog, move || first().is_some());
    let chosen = Chosen {
        target: RwSignal::new(None),
        reference: RwSignal::new(None),
        additional: RwSignal::new(Vec::new()),
    };
    Effect::new(move || {
        chosen.target.set(first());
        chosen.reference.set(None);
        chosen.additional.set(Vec::new());
    });
    let close = move || state.candidates.set(Vec::new());
    let open = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        let files = chosen.files();
        close();
        engine.open_candidates(&files);
    };
    let n_files = move || state.candidates.with(Vec::len);
    let is_many = move || n_files() >= MANY;
    let title = move || {
        let files = format::counted(n_files() as u64, "file");
        format!("{files}: which one is the trace?")
    };
    let as_job = move |class: &'static str| {
        view! {
            <button type="button" id="open-as-job" class=class on:click=move |_| engine.open_candidates_as_job()>
                {format!("Analyze all {} as ranks of one job", n_files())}
            </button>
        }
    };
    let no_reference = move || chosen.reference.get().is_none();
    view! {
        <dialog class="dialog file-chooser" id="file-chooser" aria-labelledby="file-chooser-title" node_ref=dialog on:close=move |_| close()>
            <form novalidate on:submit=open>
                {dialog_header("file-chooser-title", title, close)}
                {move || is_many().then(|| view! { <p>{as_job("main")}</p> })}
                {file_table(chosen)}
                <p class="soft fine">"A reference is optional; the trace is compared with it. Check \u{201c}Additional\u{201d} for graph captures and the model configuration."</p>
                <footer role="presentation">
                    <button type="button" disabled=no_reference on:click=move |_| chosen.reference.set(None)>"No reference"</button>
                    <span class="grow"></span>
                    {move || (!is_many()).then(|| as_job(""))}
                    <button type="button" on:click=move |_| close()>"Cancel"</button>
                    <button type="submit" id="open-candidates" class:main=move || !is_many() disabled=move || chosen.target.get().is_none()>"Open"</button>
                </footer>
            </form>
        </dialog>
    }
    .into_any()
}

/// A row for each file, with its role.
fn file_table(chosen: Chosen) -> impl IntoView {
    let state = expect_context::<AppState>();
    let rows = move || {
        let files = state.candidates.get().into_iter().enumerate();
        each(files, |(at, file)| file_row(chosen, at, &file))
    };
    let columns = ["File", "Size", "Trace", "Reference", "Additional"];
    list(
        "Files",
        heads(columns.map(|name| (name, name == "Size"))),
        rows,
    )
}

fn file_row(chosen: Chosen, at: usize, file: &CandidateFile) -> impl IntoView + use<> {
    let name = &file.path;
    // A file cannot be both: choosing it as one clears the other.
    let radio = |group: &'static str,
                 role: &str,
                 one: RwSignal<Option<usize>>,
                 other: RwSignal<Option<usize>>| {
        view! {
            <input
                type="radio"
                name=group
                id=format!("{group}-{at}")
                aria-label=format!("{name} is the {role}")
                prop:checked=move || one.get() == Some(at)
                on:change=move |_| {
                    one.set(Some(at));
                    if other.get_untracked() == Some(at) {
                        other.set(None);
                    }
                }
            />
        }
    };
    let Chosen {
        target,
        reference,
        additional,
    } = chosen;
    view! {
        <tr>
            <th scope="row" class="mono">{name.clone()}</th>
            <td class="n">{format::bytes(file.bytes as u64)}</td>
            <td>{radio("candidate-target", "trace", target, reference)}</td>
            <td>{radio("candidate-reference", "reference", reference, target)}</td>
            <td>
                <input
                    type="checkbox"
                    id=format!("candidate-beside-{at}")
                    aria-label=format!("{name} is an additional file")
                    prop:checked=move || additional.with(|additional| additional.contains(&at))
                    on:change=move |_| additional.update(|additional| toggle(additional, at))
                />
            </td>
        </tr>
    }
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
