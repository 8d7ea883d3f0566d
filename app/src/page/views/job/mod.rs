//! Job: which rank delays the others. The conclusion first, then what to do, then each rank in each step.

mod bandwidth;
mod heatmap;
mod strip;
mod tables;

use std::sync::Arc;

use dormer_core::job::overview::JobCard;

use crate::page::components::findings::{CardHead, TO_DO, folding_card};
use crate::page::engine::ranks_of;
use crate::page::prelude::*;
use crate::page::ranks::{JobStage, OpenJob, RanksRead};
use crate::page::views::start::cannot_open;
use crate::protocol::Rejected;
use heatmap::heatmap;
use strip::strip;
use tables::{Picked, tables};

/// The job, as far as it has been read.
pub fn job() -> impl IntoView {
    let state = expect_context::<AppState>();
    // Progress changes several times a second; only another stage redraws, or more data of the job.
    let stage = Memo::new(move |_| {
        state.job.with(|job| {
            let number = job.shown().map(|job| job.number);
            (job.is_reading(), number)
        })
    });
    let bar = Memo::new(move |_| matches!(stage.get(), (true, Some(_))));
    let bar = move || bar.get().then(reading_bar);
    let what = Memo::new(move |_| (stage.get().1, stage.get() == (true, None)));
    let content = move || {
        // Without this read, changes are not tracked.
        what.get();
        match state.job.get_untracked() {
            JobStage::Reading(_, None) => reading().into_any(),
            JobStage::Open(job) | JobStage::Reading(_, Some(job)) => untrack(|| open(job)),
            JobStage::Failed(rejected) => failed(rejected).into_any(),
            JobStage::Empty => ().into_any(),
        }
    };
    view! {
        {bar}
        {content}
    }
}

/// The title of the tab.
pub fn title(job: &JobStage) -> String {
    match job {
        JobStage::Reading(read, _) => format!("Reading a job: {} \u{b7} Dormer", ranks_of(read)),
        JobStage::Open(_) => "Job \u{b7} Dormer".to_owned(),
        _ => "Dormer".to_owned(),
    }
}

/// The header text for an open job.
pub fn header_facts(job: &JobStage) -> Option<(String, String)> {
    let job = job.shown()?;
    let ranks = format::counted(job.opened.overview.ranks.len() as u64, "rank");
    let files = format::counted(job.n_files as u64, "file");
    let seconds = job.opened_in_ms / 1000.0;
    Some((
        format!("Job of {ranks}"),
        format!("{files} \u{b7} {seconds:.2} s"),
    ))
}

/// The reading progress, as a signal.
fn read_now() -> Memo<RanksRead> {
    let state = expect_context::<AppState>();
    Memo::new(move |old: Option<&RanksRead>| {
        let now = state.job.with(JobStage::read);
        now.or(old.copied()).unwrap_or_default()
    })
}

fn share_read(read: Memo<RanksRead>) -> impl IntoView {
    let share = move || {
        let RanksRead {
            bytes_read,
            bytes_total,
            ..
        } = read.get();
        (bytes_total > 0.0).then(|| format!("{:.4}", bytes_read / bytes_total))
    };
    view! { <progress aria-label="Bytes read" max="1" value=share></progress> }
}

/// Warns in advance that the browser may run out of memory.
fn limit(read: Memo<RanksRead>) -> impl IntoView {
    let may_not_fit = Memo::new(move |_| read.with(|read| read.may_not_fit));
    move || {
        may_not_fit.get().then(|| {
            view! {
                <p class="fine" data-testid="job-limit">
                    "These files may need more memory than a browser gives a page (4 GB). The command line has no such limit: "
                    <code>"dormer job DIR -o OUT"</code>
                    "; the " <code>"digests/"</code> " that it writes open here."
                </p>
            }
        })
    }
}

/// The progress bar while files are read; what has been read is already shown.
fn reading_bar() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let read = read_now();
    view! {
        <section class="card job-reading" data-testid="job-loading" aria-busy="true" aria-label="Reading the ranks">
            <p data-testid="ranks-read">{move || ranks_of(&read.get())}</p>
            {share_read(read)}
            {limit(read)}
            <button type="button" class="small" id="cancel" on:click=move |_| engine.cancel_job()>"Cancel"</button>
        </section>
    }
}

fn reading() -> impl IntoView {
    let engine = expect_context::<Engine>();
    let read = read_now();
    let bytes = move || {
        let read = read.get();
        let [now, all] =
            [read.bytes_read, read.bytes_total].map(|bytes| format::bytes(bytes as u64));
        format!("{now} of {all}")
    };
    let failed = move || {
        let n_failed = read.get().n_failed as u64;
        (n_failed > 0).then(|| view! { <div><dt>"Cannot be read"</dt><dd>{format::counted(n_failed, "file")}</dd></div> })
    };
    view! {
        <section class="start loading" data-testid="job-loading" aria-busy="true">
            <h1>"Reading the ranks"</h1>
            <p class="what" data-testid="ranks-read">{move || ranks_of(&read.get())}</p>
            {share_read(read)}
            <dl class="read">
                <div><dt>"Read"</dt><dd>{bytes}</dd></div>
                {failed}
            </dl>
            {limit(read)}
            <button type="button" id="cancel" on:click=move |_| engine.cancel_job()>"Cancel"</button>
        </section>
    }
}

/// How many files the figures cover, beside the figures, if not all.
fn read_of(job: &OpenJob) -> Option<AnyView> {
    let says = job.read_of()?;
    Some(view! { " " <span class="read-of">{says}</span> }.into_any())
}

fn failed(rejected: Vec<Rejected>) -> impl IntoView {
    let lines = each(rejected, |Rejected { name, failure }| {
        view! { <li>{name.map(|name| view! { <b class="mono">{name}</b> ": " })} {failure.sentence}</li> }
    });
    let reasons = view! { <ul class="lede" data-testid="reason">{lines}</ul> };
    cannot_open("These files are not a job", reasons, "Choose other files")
}

fn open(job: Arc<OpenJob>) -> AnyView {
    let overview = &job.opened.overview;
    let n_ranks = overview.ranks.len() as u64;
    let headline = match overview.headline.is_empty() {
        true => format!("A job of {}", format::counted(n_ranks, "rank")),
        false => overview.headline.clone(),
    };
    let mut quality = overview.quality.clone();
    if job.n_unread > 0 && !job.is_partial {
        let n_read = job.n_files - job.n_unread;
        quality.insert(
            0,
            format!(
                "Reading was canceled after {n_read} of {} files.",
                job.n_files
            ),
        );
    }
    let quality = (!quality.is_empty()).then(|| {
        let lines = each(quality, |line| view! { <li>{with_units(&line)}</li> });
        view! { <section class="card" data-testid="job-quality"><h2>"Data quality" {read_of(&job)}</h2><ul>{lines}</ul></section> }
    });
    let cards = (!overview.cards.is_empty()).then(|| {
        let cards = each(overview.cards.iter().cloned().zip(1..), |(card, number)| {
            finding(&job, card, number)
        });
        view! {
            <section class="what-to-do" data-testid="job-findings">
                <h2>{TO_DO} {read_of(&job)}</h2>
                <div class="findings">{cards}</div>
            </section>
        }
    });
    view! {
        <article class="overview job" data-testid="job">
            <section class="lead">
                <h1 data-testid="headline">{title_line(&headline)} {read_of(&job)}</h1>
                {windows(&job)}
            </section>
            {pairs("facts", overview.about.clone())}
            {cards}
            {map(job.clone())}
            {strip(job.clone())}
            {tables(job.clone(), Picked::default())}
            {quality}
        </article>
    }
    .into_any()
}

/// The profiler windows, if there are several.
fn windows(job: &OpenJob) -> Option<AnyView> {
    let engine = expect_context::<Engine>();
    let opened = &job.opened;
    let shown = opened.window.to_string();
    let options = each((0..).zip(&opened.windows), |(at, name): (u32, &String)| {
        choosable(&at.to_string(), &format::capitalized(name))
    });
    let is_shown = shown.clone();
    let choose = Callback::new(move |at: String| {
        if at != is_shown
            && let Ok(at) = at.parse()
        {
            engine.choose_job_window(at);
        }
    });
    (options.len() > 1).then(|| {
        let label = "Window of the profiler";
        one_of(
            "tabs",
            "window",
            label,
            options,
            Signal::stored(shown),
            choose,
        )
    })
}

/// The heatmap with a choice of its measure.
fn map(job: Arc<OpenJob>) -> Option<AnyView> {
    let state = expect_context::<AppState>();
    let overview = &job.opened.overview;
    if overview.measures.is_empty() || overview.steps.is_empty() || overview.ranks.is_empty() {
        return None;
    }
    let keys = StoredValue::new(each(&overview.measures, |measure| measure.key.clone()));
    let wanted = state.of_place(|place| place.focus.table.clone());
    let shown = Memo::new(move |_| {
        let is_wanted = |key: &String| wanted.with(|wanted| key == wanted);
        keys.with_value(|keys| keys.iter().position(is_wanted).unwrap_or(0))
    });
    let docs = each(&overview.measures, |measure| measure.doc.clone());
    let options = each(&overview.measures, |measure| {
        choosable(&measure.key, &measure.label)
    });
    let pressed = move || keys.with_value(|keys| keys[shown.get()].clone());
    let choose = Callback::new(move |key| state.look_at(|focus| focus.table = key));
    Some(
        view! {
            <section class="card" data-testid="job-heatmap">
                <h2>"Ranks by step" {read_of(&job)}</h2>
                {one_of("tabs", "measure", "Measure", options, Signal::derive(pressed), choose)}
                <p class="fine">{move || docs.get(shown.get()).cloned()}</p>
                {heatmap(job, shown)}
            </section>
        }
        .into_any(),
    )
}

/// A finding, which folds; the first is open.
fn finding(job: &Arc<OpenJob>, card: JobCard, number: usize) -> AnyView {
    let state = expect_context::<AppState>();
    let savings = match card.savings.is_empty() {
        true => "Savings unknown".into_any(),
        false => view! { "Saves " <b>{with_units(&card.savings)}</b> }.into_any(),
    };
    let shows = card.ranks.first().copied();
    let step = card.step.map(|step| step as u32);
    let way = shows.map(|rank| {
        let says = match card.ranks.len() {
            1 => format!("Show rank {rank} in the heatmap"),
            n => format!("Show rank {rank}, the first of {n}, in the heatmap"),
        };
        view! {
            <button type="button" class="link" on:click=move |_| {
                state.look_at(|focus| {
                    focus.row = Some(rank);
                    focus.step = step.or(focus.step);
                });
                browser::go_to_element("heatmap");
            }>{says}</button>
        }
    });
    let engine = expect_context::<Engine>();
    let at = card
        .collective
        .as_ref()
        .and_then(|of| job.position(of.rank));
    let place = at.zip(card.collective.filter(|of| job.has_trace_of(of.rank)));
    let opens = place.map(|(at, of)| {
        let says = format!("Open rank {} at the {} where others wait", of.rank, of.kind);
        let event = (of.kernel, of.start_ns);
        view! {
            <button type="button" class="link" on:click=move |_| engine.open_rank_at(at, card.step, Some(event.clone()))>{says}</button>
        }
    });
    let reasoning = each(card.reasoning, |line| view! { <li>{prose(line)}</li> });
    let evidence = each(card.tables, |table| tables::shown_table(job, table, None));
    let head = CardHead {
        // The same when more files are read: an open finding stays open.
        key: format!("job {} {}", card.key, card.title),
        testid: "finding",
        light: "yellow".to_owned(),
        number,
        title: card.title,
    };
    let worth =
        view! { <span class="worth"><span class="saves">{savings}</span> {read_of(job)}</span> };
    let body = view! {
            <div class="job-body">
                <p class="issue">{prose(card.issue)}</p>
                {(!card.action.is_empty()).then(|| view! { <p>{prose(card.action)}</p> })}
                {way}
                {opens}
                <ul class="fine">{reasoning}</ul>
                {evidence}
            </div>
    };
    folding_card(head, (), worth, body)
}
