//! The views of a job, and what can be opened from them.

use thirtyfour::prelude::*;

use super::{drop_job, ranks};
use crate::browser::page::with_page;

#[test]
fn ranks_of_one_world_are_one_job_and_a_cell_opens_its_rank() {
    with_page("job", async |page| {
        drop_job(page, &ranks()).await;
        page.find("[data-testid=job]").await;
        page.wait_text(".file", "Job of 4 ranks").await;
        page.wait_text(".facts", "4").await;
        page.wait_text("[data-testid=job-ranks] tbody tr:first-child", "r1.json")
            .await;
        page.wait_text("[data-testid=job-hosts] tbody tr:first-child", "node0")
            .await;
        page.wait_text("[data-testid=job-groups]", "default_pg 0")
            .await;
        page.screenshot("job.png").await;

        // Another measure, with its figures as a table.
        page.click("#measure-idle").await;
        page.wait_hash("table=idle").await;
        page.click("[data-testid=heat-figures] > summary").await;
        page.wait_for("$$('[data-testid=heat-figures] tbody tr').length === 4")
            .await;
        page.wait_text("[data-testid=heat-figures] thead", "Step 5")
            .await;

        // By keyboard to rank 1, step 5, and into its trace.
        page.enter("#heatmap", Key::Down + Key::Down + Key::Right)
            .await;
        page.wait_text("[data-testid=heat-chosen]", "Rank 1 on node0, step 5")
            .await;
        page.wait_hash("row=1&step=1").await;
        page.enter("#heatmap", Key::Enter + "").await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r1.json").await;
        page.wait_text("#window", "Step 5").await;
        page.wait_hash("window=").await;
        page.wait_hash("file=").await;

        // The job is as it was left; nothing was read again, and nothing was ever requested from the server.
        page.click("#back-to-job").await;
        page.find("[data-testid=job]").await;
        page.wait_hash("row=1&step=1").await;
        page.wait_for("document.activeElement.id === 'heatmap'")
            .await;
        page.wait_for("$('#measure-idle').ariaPressed === 'true'")
            .await;
        // The address refers to the job, not to a trace.
        page.wait_for("!/window=|file=/.test(location.hash)").await;

        // The browser's button leads back, too.
        page.enter("#heatmap", Key::Enter + "").await;
        page.wait_until_shown(2).await;
        page.js("history.back()").await;
        page.find("[data-testid=job]").await;
        page.wait_hash("row=1&step=1").await;
        page.wait_for("document.activeElement.id === 'heatmap'")
            .await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn a_step_is_shown_rank_by_rank_and_leads_to_a_collective() {
    with_page("job-strip", async |page| {
        drop_job(page, &ranks()).await;
        page.choose_option("#strip-step", "Step 5").await;
        page.wait_hash("step=1").await;

        // Rank 1 computes 500 µs longer than rank 0, which waits for it; then the transfer takes 1 ms.
        page.click("[data-testid=strip-figures] > summary").await;
        let cells = "[...$$('[data-testid=strip-figures] tbody')[0]?.rows ?? []]
            .slice(0, 2).map(row => [1, 5, 6].map(at => row.cells[at].innerText).join()).join(' ')";
        page.wait_for(&format!(
            "/^400.µs,500.µs,1.00.ms 900.µs,0[^,]*,1.00.ms$/.test({cells})"
        ))
        .await;

        // By keyboard to rank 1, zoom in and out, and into its trace.
        page.enter("#strip", Key::Down + Key::Down).await;
        page.wait_text("[data-testid=strip-chosen]", "Rank 1").await;
        page.wait_text("[data-testid=strip-chosen]", "Last to start rank 1")
            .await;
        page.enter("#strip", "+").await;
        page.wait_hash("span=").await;
        page.enter("#strip", "0").await;
        page.wait_for("!location.hash.includes('span=')").await;
        page.enter("#strip", Key::Enter + "").await;
        page.wait_until_shown(1).await;
        page.wait_text(".file", "r1.json").await;
        page.wait_text("#window", "Step 5").await;
        page.wait_text("[data-testid=details]", "ncclDevKernel_AllReduce")
            .await;
        page.wait_hash("#/timeline").await;

        // A click does the same.
        page.click("#back-to-job").await;
        page.find("#strip").await;
        page.wait_for("$('#strip canvas').height > 40").await;
        page.act(
            "const frame = $('#strip').getBoundingClientRect();
             for (const kind of ['pointerdown', 'pointerup'])
               $('#strip').dispatchEvent(new PointerEvent(kind,
                 { bubbles: true, clientX: frame.right - 20, clientY: frame.top + 5 }))",
        )
        .await;
        page.wait_until_shown(2).await;
        page.wait_text(".file", "r0.json").await;
    });
}

#[test]
fn bandwidth_is_drawn_by_message_size() {
    with_page("job-bandwidth", async |page| {
        drop_job(page, &ranks()).await;
        page.wait_for("$$('#bandwidth path.mark').length === 1")
            .await;
        page.enter("#bandwidth", Key::Right + "").await;
        page.wait_text("#bandwidth [role=status]", "All-reduce of")
            .await;
        page.wait_text("#bandwidth .tip", "Bus bandwidth").await;
        page.click("[data-testid=bandwidth-figures] > summary")
            .await;
        page.wait_for("$$('[data-testid=bandwidth-figures] tbody tr').length === 1")
            .await;

        // A rank's bandwidth to other nodes is drawn as a line, and messages are compared with it.
        page.enter("#network-gbps", "50").await;
        page.enter("#network-gbps", Key::Enter + "").await;
        page.wait_text("#bandwidth svg", "between hosts, 50").await;
        page.enter("#bandwidth", Key::Right + "").await;
        page.wait_text("#bandwidth .tip", "% of link").await;
    });
}

#[test]
fn two_ranks_are_compared() {
    with_page("job-compare", async |page| {
        drop_job(page, &ranks()).await;
        page.click("#pick-1").await;
        page.click("#pick-3").await;
        page.wait_text("#compare-ranks", "rank 1 with rank 3").await;
        page.click("#compare-ranks").await;
        page.wait_until_shown(1).await;
        page.wait_text("[data-role=target]", "r1.json").await;
        page.wait_text("[data-role=reference]", "r3.json").await;
        page.find("#back-to-job").await;

        // Or their timelines, one below the other on the job's corrected clock.
        page.click("#back-to-job").await;
        page.click("#pick-0").await;
        page.click("#pick-2").await;
        page.click("#timelines-of-ranks").await;
        page.wait_until_shown(2).await;
        page.wait_hash("#/timeline").await;
        page.wait_hash("below=clock").await;
        page.wait_text("[data-testid=reference-below]", "r2").await;
        page.wait_for("$('#align-reference')?.value === 'clock'")
            .await;

        // Up to four of them; the third and the fourth are read one after the other.
        page.click("#back-to-job").await;
        for rank in 0..4 {
            page.click(&format!("#pick-{rank}")).await;
        }
        page.click("#timelines-of-ranks").await;
        page.wait_until_shown(3).await;
        page.wait_for("$$('[data-testid=reference-below]').length === 3")
            .await;
        page.wait_for("$$('[data-testid=reference-below]')[2].innerText.includes('r3')")
            .await;
    });
}
