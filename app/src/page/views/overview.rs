//! Overview: the conclusion, what to do, then the evidence.

use dormer_core::NoGpu;
use dormer_core::report::overview::{
    Limit, LimitKind, Quality, RepairedFigure, RepairedKind, ServingFacts,
};

use super::operations::OPERATORS;
use crate::page::components::findings::{ShownFindings, TO_DO};
use crate::page::components::gpus_alone::gpus_alone;
use crate::page::components::step_bars::step_bars;
use crate::page::prelude::*;
use crate::protocol::{CaptureFacts, GpuFacts, Overview, TopOperation};

/// The conclusion in a sentence, where the time went, what to do about it, and how far to trust it. A part is redrawn
/// only when its content changes: a GPU or a threshold affects few of them.
pub fn overview() -> impl IntoView {
    let state = expect_context::<AppState>();
    let has_findings = Memo::new(move |_| state.overview.with(|of| of.findings.is_some()));
    let work = Memo::new(move |_| state.overview.with(of_work));
    let answer = move || {
        state.overview.with(|of| {
            let of_numbers = limits_where(of, |kind| kind != OF_SAVINGS);
            view! {
                <h1 data-testid="headline">{title_line(&of.headline)}</h1>
                {limits(of_numbers)}
            }
        })
    };
    let facts = move || state.overview.with(|of| pairs("facts", of.facts.clone()));
    view! {
        <div class="overview">
            <section class="lead">{answer} {move || work.with(time_split)}</section>
            {move || work.with(key_facts)}
            {facts}
            {move || match has_findings.get() {
                true => after_analysis(work),
                false => coming().into_any(),
            }}
        </div>
    }
}

/// The limit shown with the findings: what efficiencies and savings are relative to.
const OF_SAVINGS: LimitKind = LimitKind::MixedBasis;

fn limits_where(overview: &Overview, is_wanted: impl Fn(LimitKind) -> bool) -> Vec<Limit> {
    let limits = overview.limits.iter();
    limits
        .filter(|limit| is_wanted(limit.kind))
        .cloned()
        .collect()
}

/// The parts that neither the GPU nor a threshold changes.
fn of_work(overview: &Overview) -> Overview {
    Overview {
        headline: String::new(),
        facts: Vec::new(),
        limits: Vec::new(),
        findings: None,
        gpu: GpuFacts::default(),
        ..overview.clone()
    }
}

fn time_split(work: &Overview) -> impl IntoView + use<> {
    let split =
        (!work.split.is_empty()).then(|| split_bar(work.split.clone(), work.families.clone()));
    view! { {split} {most(work)} }
}

fn key_facts(work: &Overview) -> impl IntoView + use<> {
    let serving = work.serving.iter();
    let facts = serving.flat_map(|serving| serving.key_facts.clone());
    each(facts, |facts| pairs("facts", facts))
}

fn coming() -> impl IntoView {
    view! {
        <section class="what-to-do" data-testid="findings-coming">
            <h2>{TO_DO}</h2>
            <p class="fine" role="status">"Looking for what to optimize\u{2026}"</p>
        </section>
    }
}

/// What arrives last is shown last, so that nothing moves.
fn after_analysis(work: Memo<Overview>) -> AnyView {
    let state = expect_context::<AppState>();
    let shown = move || {
        state.overview.with(|of| ShownFindings {
            found: of.findings.clone().unwrap_or_default(),
            of_savings: limits_where(of, |kind| kind == OF_SAVINGS),
            has_gpu: of.gpu.name.is_some(),
            no_gpu: of.no_gpu,
        })
    };
    // Data quality says what to record; nothing else is known.
    if work.with_untracked(is_blank) {
        let quality = move || work.with(side_panel);
        return view! { <div class="cols"><div class="alone">{quality}</div></div> }.into_any();
    }
    view! {
        {findings(shown)}
        {step_bars()}
        {gpus_alone()}
        <div class="cols">
            <div>
                {move || work.with(top_table)}
                {move || work.with(|work| work.serving.clone().map(serving))}
            </div>
            <aside>{move || work.with(side_panel)}</aside>
            {move || this_gpu(state.overview.with(|of| of.gpu.clone()))}
        </div>
    }
    .into_any()
}

/// True if neither GPU activity nor operators were recorded.
fn is_blank(work: &Overview) -> bool {
    work.top.is_empty() && matches!(work.no_gpu, Some(NoGpu::Recorded | NoGpu::Lost))
}

fn side_panel(work: &Overview) -> impl IntoView + use<> {
    view! {
        {by_category(work)}
        {data_quality(work.quality.clone(), work.captures.clone())}
    }
}

fn by_category(work: &Overview) -> Option<impl IntoView + use<>> {
    let families = work.families.clone();
    let overlap = families.iter().map(|family| family.percent).sum::<f64>() > 100.5;
    let noun = match work.no_gpu {
        Some(_) => "operations",
        None => "kernels",
    };
    (!families.is_empty()).then(|| {
        view! {
            <section class="card">
                <h2>{format!("{} by category", work.top_measure)}</h2>
                {bar_list(families, noun)}
                {work.unfused.clone().map(|sentence| view! { <p class="fine">{sentence}</p> })}
                {work.guessed.clone().map(|share| view! {
                    <p class="fine">
                        <span class="guess" aria-hidden="true">{GUESS}</span>
                        {format!(" For {share} of this time the category is inferred from the kernel name alone: no launching operator is known.")}
                    </p>
                })}
                {overlap.then(|| view! {
                    <p class="fine">"Time in which several categories overlap counts in each."</p>
                })}
            </section>
        }
    })
}

/// The number of operations in the line below the split.
const N_MOST: usize = 4;

/// The operations with the most time, in a line; their table is farther below.
fn most(work: &Overview) -> Option<impl IntoView + use<>> {
    let measure = &work.top_measure;
    let noun = match work.top_is_kernels {
        true => "kernel",
        false => "operation",
    };
    let names = each(work.top.iter().take(N_MOST), |one| {
        let name = shown_name(one);
        view! {
            <li class=format!("c-{}", one.time.family.token())>
                {dot("")}
                <span class="mono" title=name.clone()>{name.clone()}</span>
                <b>{format::percent(one.time.percent)}</b>
            </li>
        }
    });
    (!work.top.is_empty()).then(|| {
        view! {
            <div class="most" data-testid="most">
                <p id="most-of">{format!("{measure} by {noun}:")}</p>
                <ul aria-labelledby="most-of">{names}</ul>
            </div>
        }
    })
}

fn shown_name(one: &TopOperation) -> String {
    match one.is_kernel {
        true => format::kernel_name(&one.time.name),
        false => one.time.name.clone(),
    }
}

/// What a serving engine runs and how it launches it, and how the time around its steps splits.
fn serving(serving: ServingFacts) -> impl IntoView {
    let stages = each(serving.stages, |stage| {
        let [time, busy, idle] = stage.texts();
        view! {
            <tr>
                <th scope="row">{stage.name}</th>
                <td class="n">{time}</td>
                <td class="n">{busy}</td>
                <td class="n">{idle}</td>
            </tr>
        }
    });
    let notes = each(serving.notes, |note| view! { <p class="fine">{note}</p> });
    view! {
        <section class="card serving" data-testid="serving">
            <h2>"Steps"</h2>
            {pairs("pairs", serving.facts)}
            <table class="list" aria-label="Time around the steps">
                <thead>
                    <tr>
                        <th scope="col">"Part of the time"</th>
                        {heads(["Time", "GPU busy", "GPU idle"].map(|name| (name, true)))}
                    </tr>
                </thead>
                <tbody>{stages}</tbody>
            </table>
            {notes}
        </section>
    }
}

/// The operations with the most time.
fn top_table(work: &Overview) -> Option<impl IntoView + use<>> {
    let state = expect_context::<AppState>();
    let are_kernels = work.top_is_kernels;
    let rows = each(work.top.clone(), |row| top_row(state, row));
    let (title, noun, count, all_label) = match are_kernels {
        true => ("Top kernels", "Kernel", "Count", "All kernels"),
        false => ("Top operations", "Operation", "Calls", "All operations"),
    };
    // The same rows are in the table by operator.
    let all = move || match are_kernels {
        true => state.link_to("kernels"),
        false => {
            let focus = Focus::at_table(OPERATORS);
            state.link_into("operations", focus)
        }
    };
    (!rows.is_empty()).then(|| {
        view! {
            <section class="card flush" data-testid="top-operations">
                <header>
                    <h2>{title}</h2>
                    <a href=all>{all_label}</a>
                </header>
                <table class="list ranked" aria-label=title>
                    <thead>
                        <tr>
                            {heads([noun, "Category"].map(|name| (name, false)))}
                            {heads([count, &*work.top_measure, "Share"].map(|name| (name.to_owned(), true)))}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </section>
        }
    })
}

/// An operation with its share; its name opens its details, or its row in the view that has it.
fn top_row(state: AppState, row: TopOperation) -> impl IntoView {
    let name = shown_name(&row);
    let details = row.row.map(DetailsOf::Operator);
    let view = match row.is_kernel {
        true => "kernels",
        false => "operations",
    };
    let time = row.time;
    let find = time.name;
    let href = move || match details {
        Some(details) => state.link_to_details(details),
        None => state.link_into(view, Focus::finding(find.clone())),
    };
    let opened = move |event: MouseEvent| {
        if details.is_some() {
            op_details::opened_by(state, &event);
        }
    };
    view! {
        <tr class=format!("c-{}", time.family.token())>
            <th scope="row" class="mono" title=name.clone()>
                <span class="line">
                    {dot("")}
                    <a href=href on:click=opened>{cut_name(name.clone())}</a>
                </span>
            </th>
            <td class="soft">
                {time.family.label()}
                {time.is_recompute.then(|| view! {
                    <abbr title="Ran during activation recomputation">"\u{21bb}"</abbr>
                })}
            </td>
            <td class="n">{format::count(time.count)}</td>
            <td class="n">{format::time_ns(time.ns)}</td>
            {share_cell(Some(time.percent), format::percent(time.percent))}
        </tr>
    }
}

/// How far the numbers can be trusted.
fn data_quality(quality: Quality, captures: CaptureFacts) -> impl IntoView {
    let lines = each(quality.lines, |line| {
        view! {
            <li class=line.level.token()>
                <p>{prose(line.sentence.to_string())}</p>
                <p class="fine">{line.detail()}</p>
            </li>
        }
    });
    view! {
        <section class=format!("card quality {}", quality.level.token()) data-testid="quality">
            <h2>"Data quality"</h2>
            <p>{quality.sentence}</p>
            <ul>{lines}</ul>
            {repaired(quality.repaired)}
            {merged_files(captures)}
        </section>
    }
}

/// Headline figures and top kernels, as recorded and as repaired.
fn repaired(figures: Vec<RepairedFigure>) -> impl IntoView {
    let is_any = !figures.is_empty();
    is_any.then(|| {
        let rows = each(figures, |figure| {
            let label = figure.label.clone();
            let name = match figure.kind {
                RepairedKind::Kernel => view! { <code>{label}</code> }.into_any(),
                _ => label.into_any(),
            };
            let times = [figure.recorded_ns, figure.repaired_ns].map(format::time_ns);
            view! {
                <tr class:changed=figure.is_changed()>
                    <th scope="row" title=figure.label.clone()>{name}</th>
                    {each(times, |time| view! { <td class="n">{time}</td> })}
                </tr>
            }
        });
        view! {
            <table class="repaired" data-testid="repaired">
                <caption>"Numbers as recorded and as repaired"</caption>
                <thead>
                    <tr>{heads([("Number", false), ("As recorded", true), ("Repaired", true)])}</tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    })
}

/// The files merged with the trace, each with a button to remove it; and a note that a capture can be dropped if graph
/// replays lack theirs.
fn merged_files(captures: CaptureFacts) -> impl IntoView {
    let engine = expect_context::<Engine>();
    let config = captures.model.map(|model| (None, model));
    let merged = captures.merged.into_iter();
    let files: Vec<_> = merged
        .map(|(name, note)| (Some(name), note))
        .chain(config)
        .collect();
    let merged = (!files.is_empty()).then(|| {
        let files = each(files, |(file, note)| {
            let name = file.clone().unwrap_or_else(|| "Model configuration".to_owned());
            let label = format!("Remove {name}");
            view! {
                <li>
                    <p class="name" title=name.clone()>{name.clone()}</p>
                    <p class="fine">{note}</p>
                    <button type="button" class="small" aria-label=label on:click=move |_| engine.remove_capture(file.clone())>
                        "Remove"
                    </button>
                </li>
            }
        });
        view! {
            <h3>"Merged files"</h3>
            <ul class="merged" data-testid="captures">{files}</ul>
        }
    });
    let wanted = captures.is_wanted.then(|| {
        view! {
            <p class="fine" data-testid="capture-hint">
                "Kernels replayed by GPU graphs have no operators or shapes of their own. If the capture of the graphs was recorded, drop its file on this page to add them; the "
                <code>"config.json"</code> " of the model gives shapes."
            </p>
        }
    });
    view! { {merged} {wanted} }
}

/// The GPU used for the analysis.
fn this_gpu(gpu: GpuFacts) -> impl IntoView {
    view! {
        <section class="card this-gpu" data-testid="this-gpu">
            <h2>{gpu.name.unwrap_or_else(|| "No GPU chosen".to_owned())}</h2>
            {pairs("pairs", gpu.figures)}
            <p class="fine">{gpu.basis}</p>
        </section>
    }
}
