//! Compare: two traces compared.

mod trees;

use crate::page::components::findings::ShownFindings;
use crate::page::prelude::*;
use crate::page::state::Stage;
use crate::protocol::{
    CompareQuery, ComparedSide, ComparedTable, FAMILY, SharedWaste, VerdictCount, column, sheet,
};
use trees::both_trees;

#[rustfmt::skip]
const MATCHED: &[TableColumn] = &[
    TableColumn::new(column::NAME, "Operation", Width::Rest),
    TableColumn::new(column::VERDICT, "Verdict", Width::Phrase).rank(4),
    // Without them, rows of one operator read the same.
    TableColumn::new(column::SHAPES, "Shapes", Width::Name).rank(3),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(9),
    TableColumn::new(column::REFERENCE, "Reference", Width::Figure).rank(5),
    TableColumn::new(column::TARGET, "Target", Width::Figure).rank(2),
    TableColumn::new(column::DIFFERENCE, "Difference", Width::Signed).rank(1),
    TableColumn::new(column::RATIO, "Ratio", Width::Small).rank(6),
    TableColumn::new(column::EXPECTED, "Expected", Width::Figure).rank(7),
    TableColumn::new(column::EXCESS, "Excess", Width::Small).rank(8),
    TableColumn::new(column::REFERENCE_COUNT, "Ref. calls", Width::Figure).rank(10),
    TableColumn::new(column::TARGET_COUNT, "Calls", Width::Figure).rank(11),
    TableColumn::new(column::OTHER_VERDICT, "Verdict (other basis)", Width::Phrase).rank(12),
];

#[rustfmt::skip]
const UNMATCHED: &[TableColumn] = &[
    TableColumn::new(column::NAME, "Operation", Width::Rest),
    TableColumn::new(FAMILY, "Category", Width::Label).rank(4),
    TableColumn::new(column::SHAPES, "Shapes", Width::Name).rank(3),
    TableColumn::new(column::TIME, "Time", Width::Number).rank(1),
    TableColumn::new(column::SHARE, "% of compute", Width::Share).rank(2),
    TableColumn::new(column::COUNT, "Calls", Width::Figure).rank(5),
];

#[rustfmt::skip]
const NAMED: &[TableColumn] = &[
    TableColumn::new(column::NAME, "Name", Width::Rest),
    TableColumn::new(column::REFERENCE, "Reference", Width::Number).rank(3),
    TableColumn::new(column::TARGET, "Target", Width::Number).rank(2),
    TableColumn::new(column::DIFFERENCE, "Difference", Width::Signed).rank(1),
    TableColumn::new(column::RATIO, "Ratio", Width::Small).rank(4),
    TableColumn::new(column::REFERENCE_COUNT, "Ref. count", Width::Figure).rank(5),
    TableColumn::new(column::TARGET_COUNT, "Count", Width::Figure).rank(6),
];

#[rustfmt::skip]
const MEMORY: &[TableColumn] = &[
    TableColumn::new(column::NAME, "Memory", Width::Rest),
    TableColumn::new(column::REFERENCE_MB, "Reference, MB", Width::Number).rank(3),
    TableColumn::new(column::TARGET_MB, "Target, MB", Width::Number).rank(2),
    TableColumn::new(column::DIFFERENCE_MB, "Difference, MB", Width::Number).rank(1),
    TableColumn::new(column::RATIO, "Ratio", Width::Small).rank(4),
];

#[rustfmt::skip]
const PLACES: &[TableColumn] = &[
    TableColumn::new(column::NAME, "Inside", Width::Rest),
    TableColumn::new(column::REFERENCE_CALLS, "The reference calls", Width::Name).rank(3),
    TableColumn::new(column::TARGET_CALLS, "The target calls", Width::Name).rank(2),
    TableColumn::new(column::COUNT, "Places", Width::Figure).rank(6),
    TableColumn::new(column::REFERENCE, "Reference", Width::Number).rank(5),
    TableColumn::new(column::TARGET, "Target", Width::Number).rank(4),
    TableColumn::new(column::DIFFERENCE, "Difference", Width::Signed).rank(1),
];

/// The tables: the name in queries, the title, the noun of the rows, and the columns.
#[rustfmt::skip]
const TABLES: [(&str, &str, &str, &[TableColumn]); 12] = [
    (sheet::OPERATIONS, "Operations", "operations", MATCHED),
    (sheet::TARGET_ONLY, "Only in the target", "operations", UNMATCHED),
    (sheet::REFERENCE_ONLY, "Only in the reference", "operations", UNMATCHED),
    (sheet::STEPS, "Steps", "steps", NAMED),
    (sheet::TREE, "Call trees", "calls", &[]),
    (sheet::PLACES, "Differences by call", "places", PLACES),
    (sheet::CATEGORIES, "Categories", "categories", NAMED),
    (sheet::KERNELS, "Kernels", "kernels", NAMED),
    (sheet::MODULES, "Modules", "modules", NAMED),
    (sheet::COLLECTIVES, "Collectives", "collectives", NAMED),
    (sheet::CPU, "CPU", "operators", NAMED),
    (sheet::MEMORY, "Memory", "sizes", MEMORY),
];

/// Two traces, or a way to choose the second one.
pub fn compare() -> impl IntoView {
    let state = expect_context::<AppState>();
    let is_open = Memo::new(move |_| state.reference.with(Stage::is_open));
    move || match is_open.get() {
        true => both().into_any(),
        false => invitation().into_any(),
    }
}

fn invitation() -> impl IntoView {
    let state = expect_context::<AppState>();
    view! {
        <section class="page" data-testid="compare-empty">
            <h1>"Compare two traces"</h1>
            <p class="lede">
                {move || format!("Compare {} with another trace: another GPU, version or framework. Dormer matches their operations and shows where they differ and how much of the difference the hardware explains.", state.file_name.get())}
            </p>
            <div class="start-actions">
                <button type="button" class="main" id="compare-choose" on:click=|_| browser::choose_reference()>
                    {icon("file")}
                    "Choose the other trace"
                </button>
            </div>
            <p class="fine">"Or drop it on the right half of this window."</p>
        </section>
    }
}

/// The sentences that are not folded, the most important ones.
const MOST_SENTENCES: usize = 4;

fn both() -> impl IntoView {
    let state = expect_context::<AppState>();
    let engine = expect_context::<Engine>();
    let facts = engine.follow(|| CompareQuery);
    move || {
        let Some(facts) = facts.get() else {
            return view! { <p class="soft" role="status">"Comparing\u{2026}"</p> }.into_any();
        };
        let mut sentences = facts.sentences;
        let others = sentences.split_off(sentences.len().min(MOST_SENTENCES));
        let reference = state.reference.with(|stage| match stage {
            Stage::Open(opened) => opened.rank,
            _ => None,
        });
        let ranks = [reference, state.of_opened(|opened| opened.rank)];
        let sides = each(facts.sides.into_iter().zip(ranks), |(side, rank)| {
            side_bar(side, rank)
        });
        let steps = (!facts.steps.is_empty()).then(|| waterfall(facts.steps, facts.scale_from));
        let (has_gpu, no_gpu) = state
            .overview
            .with(|overview| (overview.gpu.name.is_some(), overview.no_gpu));
        let found = ShownFindings {
            found: facts.findings,
            of_savings: Vec::new(),
            has_gpu,
            no_gpu,
        };
        view! {
            <article class="overview compare" data-testid="compare">
                <section class="lead">
                    <h1 data-testid="compare-headline">{title_line(&facts.headline)}</h1>
                    {limits(facts.limits)}
                    <div class="sides">{sides}</div>
                    <div class="sentences">
                        {each(sentences, sentence)}
                        {facts.waste.first().map(in_both)}
                        {folded("More on what is compared", others)}
                        // The limits above name them in short.
                        {folded("Data lost in the traces", facts.losses)}
                    </div>
                </section>
                {findings(move || found.clone())}
                {steps}
                {(!facts.waste.is_empty()).then(|| waste(facts.waste))}
                {tables(facts.tables, facts.verdicts)}
                {files()}
            </article>
        }
        .into_any()
    }
}

fn sentence(sentence: String) -> impl IntoView {
    view! { <p>{prose(sentence)}</p> }
}

/// Sentences that fewer need.
fn folded(title: &'static str, sentences: Vec<String>) -> Option<impl IntoView> {
    (!sentences.is_empty()).then(|| {
        view! {
            <details class="more">
                <summary>{title}</summary>
                {each(sentences, sentence)}
            </details>
        }
    })
}

/// The section of what both traces waste.
const IN_BOTH: &str = "in-both";

/// What both traces waste most, in a sentence: it is often more than what differs.
fn in_both(most: &SharedWaste) -> impl IntoView + use<> {
    view! {
        <p>
            "Both traces have inefficiencies that no difference shows; the largest: "
            <button type="button" class="link" on:click=|_| browser::go_to_element(IN_BOTH)>{prose(most.title.clone())}</button>
            ". Fixing it saves " <b>{with_units(&most.saves)}</b> " on the target."
        </p>
    }
}

/// What both traces waste alike, so that no difference shows it.
fn waste(waste: Vec<SharedWaste>) -> impl IntoView {
    let items = each(waste, |one| {
        view! {
            <li>
                <h3>{prose(one.title)}</h3>
                <span class="saves">"Saves " <b>{with_units(&one.saves)}</b></span>
                <p>{prose(format!("{} {}", one.sentence, one.advice))}</p>
                {evidence_list(one.evidence, one.n_more)}
            </li>
        }
    });
    view! {
        <section class="card" id=IN_BOTH tabindex="-1" data-testid="compare-waste">
            <h2>"Inefficiencies in both traces"</h2>
            <p class="soft">"Both traces lose this time, so it does not show up as a difference. Savings apply to the target."</p>
            <ol class="waste">{items}</ol>
        </section>
    }
}

/// One trace as a bar; both bars have the same scale.
fn side_bar(side: ComparedSide, rank: Option<u64>) -> impl IntoView {
    let device =
        (!side.device.is_empty()).then(|| view! { <span class="soft">{side.device}</span> });
    let bar = (!side.split.is_empty()).then(|| {
        view! {
            <div style:width=format!("{:.2}%", side.percent.clamp(1.0, 100.0))>
                {split_bar(side.split, Vec::new())}
            </div>
        }
    });
    let role = side.role.to_lowercase();
    view! {
        <section class="side-bar" data-role=role>
            <p>
                <span class="role">{side.role}</span>
                {trace_label(rank, side.name)}
                {device}
                <b class="total">{side.total}</b>
            </p>
            {bar}
        </section>
    }
}

/// The tables, one at a time.
fn tables(tables: Vec<ComparedTable>, verdicts: Vec<VerdictCount>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let known: Vec<(usize, String)> = TABLES
        .iter()
        .enumerate()
        .filter_map(|(at, (sheet, ..))| {
            let table = tables.iter().find(|table| table.key == *sheet)?;
            Some((at, table.count.clone()))
        })
        .collect();
    let first = known.first().map_or(0, |(at, _)| *at);
    let shown = state.of_place(move |place| {
        let wanted = TABLES
            .iter()
            .position(|(sheet, ..)| *sheet == place.focus.table);
        wanted.unwrap_or(first)
    });
    let choose = Callback::new(move |sheet| {
        state.look_at(|focus| {
            focus.table = sheet;
            focus.find = String::new();
            focus.row = None;
            focus.sort = None;
            focus.only = Vec::new();
        });
    });
    let pressed = Signal::derive(move || TABLES[shown.get()].0.to_owned());
    let options = each(known, |(at, count)| {
        let (sheet, title, ..) = TABLES[at];
        (sheet.to_owned(), title.to_owned(), count)
    });
    let verdicts = StoredValue::new(verdicts);
    let table = move || {
        let at = shown.get();
        let (name, _, noun, columns) = *TABLES.get(at)?;
        if name == sheet::TREE {
            return Some(view! { <div class="table-box">{untrack(both_trees)}</div> }.into_any());
        }
        let filter = (name == sheet::OPERATIONS).then(|| verdict_filter(verdicts.get_value()));
        Some(
            view! {
                {filter}
                <div class="table-box">
                    <SheetTable sheet=name noun columns empty="Nothing to compare."/>
                </div>
            }
            .into_any(),
        )
    };
    view! {
        <section class="tables" id=COMPARE_TABLES tabindex="-1" data-testid="compare-tables">
            {one_of("tabs", "table", "Tables", options, pressed, choose)}
            {table}
        </section>
    }
}

/// The counts of the operations' verdicts; each is a filter.
fn verdict_filter(verdicts: Vec<VerdictCount>) -> impl IntoView {
    let state = expect_context::<AppState>();
    let only = state.of_place(|place| place.focus.only.clone());
    let buttons = each(verdicts, |verdict| {
        let key = StoredValue::new(verdict.key.clone());
        let is_on = move || only.with(|only| only.contains(&key.get_value()));
        let turn = move |_| state.look_at(|focus| focus.toggle(key.get_value()));
        view! {
            <button
                type="button"
                class=format!("verdict v-{}", verdict.key)
                data-verdict=verdict.key
                aria-pressed=move || is_on().to_string()
                on:click=turn
            >
                {dot("")}
                {verdict.label} " " <b>{verdict.count}</b> " " <span class="soft">{verdict.difference}</span>
            </button>
        }
    });
    view! {
        <div class="verdicts" role="group" aria-label="Filter by verdict">
            {buttons}
        </div>
    }
}

/// A link to the files of the comparison.
fn files() -> impl IntoView {
    let state = expect_context::<AppState>();
    view! {
        <p class="files" data-testid="compare-files">
            "The comparison as a report, a workbook or JSON: "
            <a href=move || state.link_to("export")>"Export"</a>
        </p>
    }
}
