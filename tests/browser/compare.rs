//! Two traces: opening them, telling them apart, swapping, filtering, closing.

use dormer_core::testing::Timetable;
use serde_json::json;
use thirtyfour::Key;

use super::page::with_page;
use super::traces::kernels;

const HEADLINE: &str = "[data-testid=compare-headline]";

#[test]
fn two_traces_at_once_are_compared_swapped_and_filtered() {
    with_page("compare", async |page| {
        let (new, old) = (kernels(&[20, 300]), kernels(&[20, 100]));
        page.drop_files(&[("new.json", &new), ("old.json", &old)])
            .await;
        page.wait_until_shown(1).await;
        page.text_when(HEADLINE, |text| text.starts_with("The target takes "))
            .await;
        let roles = "$$('[data-testid=comparison-bar] .trace').map(trace => [trace.dataset.role, trace.querySelector('b').textContent])";
        let named = json!([["reference", "old.json"], ["target", "new.json"]]);
        page.wait_value(roles, named).await;
        // What to do precedes where the difference comes from.
        page.wait_for("$('[data-testid=findings]')?.compareDocumentPosition($('[data-testid=waterfall]')) === 4")
            .await;
        let slower = "$('[data-testid=compare-headline]')?.innerText.includes('+')";
        page.wait_for(slower).await;
        // Names are in another font, not in backticks; figures fit their cells.
        page.find("[id^=compare_operations-]").await;
        page.wait_value("$('[data-testid=compare]').innerText.includes('`')", false)
            .await;
        page.wait_for("$$('td.slower').every(cell => cell.scrollWidth <= cell.clientWidth)")
            .await;

        // The operations of both, with their verdicts.
        page.find("[id^=compare_operations-]").await;
        let rows = "$$('tbody tr[id^=compare_operations-]').length";
        page.wait_for(&format!("{rows} > 0")).await;
        page.click("[data-verdict]").await;
        page.wait_hash("only=").await;
        page.click("[data-verdict]").await;
        page.wait_for("!location.hash.includes('only=')").await;
        page.enter("#filter", "no such thing").await;
        page.wait_hash("thing").await;
        page.wait_for(&format!("{rows} === 0")).await;
        page.click("#table-compare_kernels").await;
        page.find("[id^=compare_kernels-]").await;

        // A step from one time to the other leads to its operation.
        page.click("[data-testid=waterfall] button").await;
        page.find("[id^=compare_operations-][aria-selected=true]")
            .await;

        // Swapped.
        page.click("#swap").await;
        page.wait_for(&format!("{slower} === false")).await;
        let swapped = json!([["reference", "new.json"], ["target", "old.json"]]);
        page.wait_value(roles, swapped).await;
        page.click("#close-reference").await;
        page.find("[data-testid=compare-empty]").await;
        page.go("#/overview").await;
        page.wait_text(".file", "old.json").await;
    });
}

#[test]
fn a_trace_against_itself_and_one_that_cannot_be_read() {
    with_page("compare-same", async |page| {
        let trace = kernels(&[30, 20]);
        page.open("one.json", &trace).await;
        // A file that is not a trace leaves the first one unchanged.
        page.drop_reference("broken.json", "no JSON at all").await;
        page.wait_text("#reference-error", "broken.json").await;
        page.find("[data-testid=headline]").await;

        page.drop_reference("copy.json", &trace).await;
        page.text_when(HEADLINE, |text| text.starts_with("No difference"))
            .await;
        // Each has its own GPU; the hash contains both.
        page.choose_option("#reference-gpu", "MI300X").await;
        page.wait_hash("reference=AMD").await;
        page.wait_text("[data-role=target]", "no GPU chosen").await;
        page.screenshot("compare.png").await;
    });
}

#[test]
fn three_files_at_once_are_too_many() {
    with_page("compare-three", async |page| {
        let trace = kernels(&[30, 20]);
        let files = ["one.json", "two.json", "three.json"].map(|name| (name, trace.as_str()));
        page.drop_files(&files).await;
        page.text_when("#error", |text| text.starts_with("A group of 3 files"))
            .await;
        page.text_when("[data-testid=reason]", |reason| {
            reason.ends_with("one trace, or two to compare.")
        })
        .await;

        // What is open stays open.
        page.open("one.json", &trace).await;
        page.drop_files(&files).await;
        page.wait_text("#open-error", "open one trace, or two to compare")
            .await;
        page.find("[data-testid=headline]").await;
    });
}

/// A trace of operators, each with a kernel of the same name.
fn operators(names: &[&str]) -> String {
    let calls = names.iter().zip(0_u32..);
    let all = calls.fold(Timetable::new(), |all, (name, at)| {
        let (start, gpu) = (10 * at, 1000 + 10 * at);
        let kernel = format!("{name}_kernel");
        all.op(name, start..start + 9)
            .launched(&kernel, start + 1..start + 3, gpu..gpu + 10)
    });
    all.json()
}

#[test]
fn both_call_trees_stand_side_by_side_with_their_differences() {
    with_page("compare-trees", async |page| {
        let old = operators(&["norm", "bmm", "mul", "softmax", "mm"]);
        let new = operators(&["norm", "flash", "mm"]);
        page.drop_files(&[("new.json", &new), ("old.json", &old)])
            .await;
        page.wait_until_shown(1).await;
        page.click("#table-compare_tree").await;
        page.wait_for("$('[data-testid=trees-summary]').innerText.startsWith('1 difference')")
            .await;
        let rows = "$$('[id^=both-]').map(row => [row.querySelector('.cut').textContent, row.querySelector('.diff-call').dataset.only])";
        page.wait_for(&format!("{rows}.length === 8")).await;
        let calls = json!([
            ["norm", ""],
            ["bmm", "reference"],
            ["mul", "reference"],
            ["softmax", "reference"],
            ["flash", "target"],
            ["mm", ""],
        ]);
        page.wait_value(&format!("{rows}.slice(2)"), calls).await;

        // Only differences; then go to one by key, and back to its caller.
        page.click("#only-differences").await;
        page.wait_for(&format!("{rows}.length === 6")).await;
        page.click("#difference-next").await;
        let selected = "$('[id^=both-][aria-selected=true] .cut')?.textContent";
        page.wait_for(&format!("{selected} === 'flash'")).await;
        page.wait_says("[data-testid=difference]", "Difference 1 of 1")
            .await;
        for words in ["only in the target", "flash_kernel"] {
            page.wait_text("[data-testid=details]", words).await;
        }
        page.enter("table.diff", Key::Left).await;
        page.wait_for(&format!("{selected} === 'Thread'")).await;
        page.enter("table.diff", Key::Left).await;
        page.wait_for(&format!("{rows}.length === 2")).await;
        page.wait_for("location.hash.includes('table=compare_tree') && location.hash.includes('only=different')")
            .await;

        // The same trace twice.
        page.click("#close-reference").await;
        page.drop_reference("copy.json", &new).await;
        page.text_when(HEADLINE, |text| text.starts_with("No difference"))
            .await;
        page.click("#table-compare_tree").await;
        page.wait_for("$('[data-testid=trees-summary]').innerText.startsWith('No difference')")
            .await;
    });
}
