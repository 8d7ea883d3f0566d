//! What this browser stores of the page: a copy for offline use, and the sites whose traces are opened without asking.
//! The dialog about both, and the buttons that open it.

use crate::page::browser::{FrontPage, PageSource};
use crate::page::prelude::*;
use crate::page::state::{OfflineCopy, Shown};

/// The text of the button that stores a copy.
pub const KEEP: &str = "Save this version for offline use";

const TITLE: &str = "Offline and sites";

/// The text of the link to the list of sites.
pub const SITES: &str = "Sites that open traces here";

/// Looks up the stored copy when the page is opened.
pub fn look_for_copy(state: AppState) {
    wasm_bindgen_futures::spawn_local(async move {
        let kept = browser::stored_build().await;
        if let Some(build) = &kept {
            browser::offer_as_app(build);
        }
        state.offline.update(|copy| copy.kept = kept);
    });
}

/// A button that opens the dialog.
pub fn offline_button() -> impl IntoView {
    let state = expect_context::<AppState>();
    let is_kept = move || state.offline.with(|copy| copy.kept.is_some());
    dialog_button(
        Shown::Offline,
        "offline-button",
        TITLE,
        "A copy of this page in this browser, and sites that may open traces here",
        view! { <Show when=is_kept><span class="badge">"saved"</span></Show> },
    )
}

/// The link to the dialog on the start page.
pub fn offline_line() -> impl IntoView {
    let state = expect_context::<AppState>();
    let text = move || match state.offline.with(|copy| copy.kept.is_some()) {
        true => "Saved for offline use",
        false if browser::can_be_stored() => KEEP,
        false => SITES,
    };
    let has_sites = move || state.trusted_sites.with(|sites| !sites.is_empty());
    let open = move |_| state.dialog.set(Some(Shown::Offline));
    move || {
        (browser::can_be_stored() || has_sites()).then(|| {
            view! {
                <p class="offline-line">
                    <button type="button" class="ghost" id="offline-line" aria-haspopup="dialog" on:click=open>{text}</button>
                </p>
            }
        })
    }
}

/// The dialog.
pub fn offline_dialog() -> impl IntoView {
    let inside = view! { {copy()} {sites()} };
    dialog(Shown::Offline, "offline-dialog", "offline", TITLE, inside)
}

/// The copy and its actions.
fn copy() -> impl IntoView {
    let state = expect_context::<AppState>();
    let is_kept = Memo::new(move |_| state.offline.with(|copy| copy.kept.is_some()));
    let has_newer = Memo::new(move |_| state.offline.with(|copy| copy.newer.is_some()));
    let is_busy = Memo::new(move |_| state.offline.with(|copy| copy.is_busy));
    let button = move |id: &'static str, text: &'static str, act: fn(AppState)| {
        view! {
            <button type="button" id=id disabled=move || is_busy.get() on:click=move |_| act(state)>{text}</button>
        }
    };
    let kept = move || {
        let build = state
            .offline
            .with(|copy| copy.kept.clone())
            .unwrap_or_default();
        view! {
            <p>"Build " <b class="mono">{build}</b> " of Dormer is saved in this browser. This address opens it, with the server or without, and asks the server for nothing until you look for a newer build."</p>
            <p class="acts">
                {move || match has_newer.get() {
                    true => button("replace-copy", "Replace it with the newer build", |state| keep(state, false)),
                    false => button("look-for-newer", "Look for a newer one", look_for_newer),
                }}
                {button("delete-copy", "Delete the copy", delete)}
            </p>
            <p class="fine">"You can now also install the page as an app from the browser; the app opens traces on double-click."</p>
        }
    };
    let not_kept = move || {
        let bytes = format::bytes(browser::copy_bytes() as u64);
        view! {
            <p>{format!("A copy of the page, about {bytes}, stays in this browser: this address then opens without the server, and always this build, until you replace or delete it. Making it asks the server for the files of the page once more.")}</p>
            <p class="acts">{button("keep-copy", KEEP, |state| keep(state, true))}</p>
        }
    };
    view! {
        <section aria-labelledby="offline-copy">
            <h3 id="offline-copy">"Offline use"</h3>
            {move || match (browser::can_be_stored(), is_kept.get()) {
                (false, _) => view! {
                    <p>{prose(no_copy().to_owned())}</p>
                }.into_any(),
                (true, true) => kept().into_any(),
                (true, false) => not_kept().into_any(),
            }}
            <p class="fine" role="status" data-testid="offline-said">{move || state.offline.with(|copy| copy.message.clone())}</p>
        </section>
    }
}

/// Why the page cannot keep a copy of itself.
fn no_copy() -> &'static str {
    match browser::page_source() {
        PageSource::Command => {
            "This page comes from `dormer open`, which has all of it: it needs no network and no copy."
        }
        PageSource::OneFile => {
            "This page is one file with everything in it. Saved on this computer, it opens without a server."
        }
        PageSource::Site => {
            "This browser has no storage for a copy here. Copies need https or localhost; some private windows and frames have none."
        }
    }
}

/// Sites whose traces are opened without asking.
fn sites() -> impl IntoView {
    let state = expect_context::<AppState>();
    let line = move |site: String| {
        let (label, own) = (format!("Ask again about {site}"), site.clone());
        view! {
            <li>
                <span class="mono name">{site}</span>
                <button type="button" class="small" aria-label=label on:click=move |_| state.trust_site(own.clone(), false)>"Ask again"</button>
            </li>
        }
    };
    let list = move || {
        match state.trusted_sites.get() {
        sites if sites.is_empty() => view! {
            <p class="soft">"Tools can open a trace here, as they do in Perfetto. You are asked about each, and those that you always allow are listed here."</p>
        }
        .into_any(),
        sites => view! {
            <p>"Traces from these sites open without asking:"</p>
            <div class="recent" data-testid="sites"><ul>{each(sites, line)}</ul></div>
        }
        .into_any(),
    }
    };
    view! {
        <section aria-labelledby="offline-sites">
            <h3 id="offline-sites">{SITES}</h3>
            {list}
        </section>
    }
}

/// Performs an action on the copy, and shows the outcome.
fn work(
    state: AppState,
    doing: &str,
    work: impl Future<Output = Result<OfflineCopy, String>> + 'static,
) {
    state.offline.update(|copy| {
        copy.is_busy = true;
        doing.clone_into(&mut copy.message);
    });
    wasm_bindgen_futures::spawn_local(async move {
        let done = work.await;
        state.offline.update(|copy| match done {
            Ok(new) => *copy = new,
            Err(why) => {
                copy.is_busy = false;
                copy.message = format!("Failed: {why}.");
            }
        });
    });
}

/// Stores the server's current build: only if it is the one shown, or any build.
fn keep(state: AppState, is_this_build: bool) {
    work(state, "Asking the server\u{2026}", async move {
        let front: FrontPage = browser::front_page().await?;
        let build = front.build.clone();
        if is_this_build && build != browser::build() {
            return Err(
                "the server has another build by now: reload the page, then save it".to_owned(),
            );
        }
        let show_progress = |n: usize| {
            let message = format!("{} saved so far\u{2026}", format::counted(n as u64, "file"));
            state.offline.update(|copy| copy.message = message);
        };
        browser::store_build(front, show_progress).await?;
        let message = match build == browser::build() {
            true => "Saved.",
            false => "Saved. Reload the page to use it.",
        };
        Ok(OfflineCopy {
            kept: Some(build),
            message: message.to_owned(),
            ..OfflineCopy::default()
        })
    });
}

/// Asks the server which build it has.
fn look_for_newer(state: AppState) {
    work(state, "Asking the server\u{2026}", async move {
        let found = browser::front_page().await?.build;
        let mut copy = state.offline.get_untracked();
        copy.is_busy = false;
        if copy.kept.as_ref() == Some(&found) {
            "The server has the same build.".clone_into(&mut copy.message);
        } else {
            copy.message = format!("The server has build {found}.");
            copy.newer = Some(found);
        }
        Ok(copy)
    });
}

fn delete(state: AppState) {
    work(state, "Deleting\u{2026}", async move {
        browser::delete_build().await?;
        Ok(OfflineCopy {
            message: "The copy is deleted.".to_owned(),
            ..OfflineCopy::default()
        })
    });
}
