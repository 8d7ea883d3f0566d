//! Other windows that send traces, in the protocol of Perfetto's page: those that opened the page, or that contain it
//! in a frame.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::server::{Server, Site};

use super::page::{Page, with_files, with_page};
use super::traces::{kernels, shows};

/// A sending page: it pings until it gets an answer, sends what the test says, and records what it receives.
const SENDER: &str = "<!DOCTYPE html><title>sender</title><link rel=\"icon\" href=\"data:,\"><body><script>
    const heard = [];
    addEventListener('message', event => heard.push(event.data));
    const ready = async target => {
      while (!heard.includes('PONG')) {
        target.postMessage('PING', '*');
        await new Promise(then => setTimeout(then, 50));
      }
    };
    const send = async (target, message, transfer = []) => {
      await ready(target);
      target.postMessage(message, '*', transfer);
    };
    const bytes = text => new TextEncoder().encode(text).buffer;
    const statuses = () => heard.filter(data => data.dormer).map(({ dormer }) => `${dormer.status} ${dormer.name}`);
    </script>";

/// A server of another origin, with the sending page.
fn foreign() -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sender.html"), SENDER).unwrap();
    let server = Server::start(Site::new(folder.path()), 0).unwrap();
    (server, folder)
}

fn origin(server: &Server) -> String {
    server.url().trim_end_matches('/').to_owned()
}

/// Makes a page open ours, and switches to the sending page.
async fn open_from(page: &Page, sender: &str) {
    page.go_to(&format!("{sender}sender.html")).await;
    let url = json!(page.url());
    page.js(&format!("window.target = open({url})")).await;
}

/// Sends a message from the window that opened the page, then switches to the page.
async fn send(page: &Page, message: &str) {
    page.enter_window(0).await;
    page.js_async(&format!("send(target, {message}).then(done)"), vec![])
        .await;
    page.enter_window(1).await;
}

/// The status messages that the opener received.
async fn statuses(page: &Page) -> Vec<String> {
    page.enter_window(0).await;
    let statuses = page.value("statuses()").await;
    page.enter_window(1).await;
    statuses
}

/// Waits until it received a status message.
async fn wait_status(page: &Page, status: &str) {
    page.enter_window(0).await;
    page.wait_for(&format!("statuses().includes({})", json!(status)))
        .await;
    page.enter_window(1).await;
}

fn message(name: &str, text: &str, rest: &str) -> String {
    let (name, text) = (json!(name), json!(text));
    format!(
        "{{ perfetto: {{ title: {name}, buffer: bytes({text}), {rest} }}, dormer: {{ wantStatus: true }} }}"
    )
}

#[test]
fn another_site_is_asked_about() {
    with_page("sender-asked", async |page| {
        let (server, _folder) = foreign();
        open_from(page, &server.url()).await;
        let (first, second) = (kernels(&[300, 100]), kernels(&[7]));

        // "No" has the focus.
        send(page, &message("first", &first, "")).await;
        page.wait_text("#sender-question[open]", &origin(&server))
            .await;
        page.wait_text("#sender-question", "first").await;
        page.wait_for("document.activeElement?.id === 'sender-no'")
            .await;
        page.screenshot("sender-question.png").await;
        // While there is a question, other messages are ignored.
        send(page, &message("other", &second, "")).await;
        page.wait_text("#sender-question", "first").await;
        page.click("#sender-no").await;
        wait_status(page, "refused first").await;
        page.wait_for("!$('#sender-question').open && !!$('[data-testid=empty]')")
            .await;

        // Opened once: the user is asked again.
        send(page, &message("first", &first, "keepApiOpen: true")).await;
        page.click("#sender-question[open] #sender-open").await;
        page.wait_until_shown(1).await;
        shows(page, &first).await;
        wait_status(page, "opened first").await;

        // Always: the next one opens without a question, even after a reload.
        let named = message(
            "title",
            &second,
            "fileName: 'second.json', keepApiOpen: true",
        );
        send(page, &named).await;
        page.click("#sender-question[open] #sender-always").await;
        page.wait_until_shown(2).await;
        page.wait_text(".file", "second.json").await;
        send(page, &message("no trace", "no JSON", "keepApiOpen: true")).await;
        wait_status(page, "failed no trace").await;
        send(page, &message("third", &first, "")).await;
        page.wait_until_shown(3).await;
        wait_status(page, "opened third").await;
        assert_eq!(statuses(page).await.len(), 5);

        // The sender did not ask to send more.
        page.js("globalThis.pings = 0; addEventListener('message', () => pings++)")
            .await;
        page.enter_window(0).await;
        page.js("heard.length = 0; target.postMessage('PING', '*')")
            .await;
        page.enter_window(1).await;
        page.wait_for("pings === 1").await;
        page.js("opener.postMessage('after', '*')").await;
        page.enter_window(0).await;
        page.wait_for("heard.includes('after')").await;
        assert_eq!(page.value::<Vec<Value>>("heard").await, [json!("after")]);

        // The user revokes it.
        page.enter_window(1).await;
        page.click("#offline-button").await;
        page.wait_text("[data-testid=sites]", &origin(&server))
            .await;
        page.screenshot("sites.png").await;
        page.click("[data-testid=sites] button").await;
        page.wait_for("!$('[data-testid=sites]') && !localStorage.getItem('dormer.sites')")
            .await;
    });
}

#[test]
fn the_own_site_opens_a_trace_unasked() {
    let files: &[(&str, &[u8])] = &[("sender.html", SENDER.as_bytes())];
    with_files("sender-own", files, async |page, _| {
        open_from(page, page.url()).await;
        let trace = kernels(&[40]);
        // A stream of unknown size.
        page.enter_window(0).await;
        let script = format!(
            "const stream = new Blob([{}]).stream();
             send(target, {{ perfetto: {{ title: 'streamed', stream }} }}, [stream]).then(done)",
            json!(trace)
        );
        page.js_async(&script, vec![]).await;
        page.enter_window(1).await;
        page.wait_until_shown(1).await;
        shows(page, &trace).await;
        page.wait_text(".file", "streamed").await;
    });
}

#[test]
fn what_is_no_trace_is_passed_over() {
    with_page("sender-garbage", async |page| {
        let (server, _folder) = foreign();
        open_from(page, &server.url()).await;
        for garbage in [
            "null",
            "undefined",
            "42",
            "'PONG'",
            "[]",
            "{}",
            "new Map([['perfetto', 1]])",
            "new Error('x')",
            "{ perfetto: null }",
            "{ perfetto: 'x' }",
            "{ perfetto: {} }",
            "{ perfetto: { buffer: 'text', title: 5 } }",
            "{ perfetto: { buffer: new ArrayBuffer(0), title: 'empty' } }",
            "{ perfetto: { stream: 7 } }",
            "{ perfetto: { timeStart: 1, timeEnd: 2 } }",
            "{ perfettoIgnore: true, perfetto: { buffer: bytes('x'), title: 'ignored' } }",
            "{ dormer: null }",
            "new ArrayBuffer(0)",
        ] {
            send(page, garbage).await;
        }
        // A buffer alone has no name.
        page.enter_window(0).await;
        let script = format!("send(target, bytes({})).then(done)", json!(kernels(&[1])));
        page.js_async(&script, vec![]).await;
        page.enter_window(1).await;
        page.wait_text("#sender-question[open]", "External trace")
            .await;
        assert_eq!(statuses(page).await, [""; 0]);
        // Escape means "No".
        page.press(thirtyfour::Key::Escape).await;
        page.wait_for("!$('#sender-question').open && !!$('[data-testid=empty]')")
            .await;
    });
}

#[test]
fn a_page_that_holds_it_in_a_frame_is_asked_about_and_its_neighbor_is_not_heard() {
    with_page("sender-frame", async |page| {
        let (server, folder) = foreign();
        let frames = |name: &str, sandbox: &str| {
            let neighbor = "<iframe srcdoc=\"<script>setInterval(() => parent.frames[0].postMessage('PING', '*'), 20); \
                onmessage = event => event.data === 'PONG' && parent.postMessage('heard', '*')</script>\"></iframe>";
            let outer = format!(
                "{SENDER}<iframe {sandbox} src=\"{}{name}\" width=900 height=700></iframe>{neighbor}",
                page.url()
            );
            std::fs::write(folder.path().join("outer.html"), outer).unwrap();
        };
        let outer = format!("{}outer.html", server.url());
        for (name, sandbox) in [("", ""), ("dormer.html", "sandbox=\"allow-scripts\"")] {
            frames(name, sandbox);
            page.go_to(&outer).await;
            let script = format!(
                "send(frames[0], {}).then(done)",
                message("framed", &kernels(&[60]), "")
            );
            page.js_async(&script, vec![]).await;
            page.enter_frame().await;
            page.wait_text("#sender-question[open]", &origin(&server))
                .await;
            page.click("#sender-open").await;
            page.wait_until_shown(1).await;
            page.leave_frame().await;
            page.wait_for("statuses().includes('opened framed')").await;
            assert!(page.value::<bool>("!heard.includes('heard')").await);
        }
    });
}

#[test]
fn a_page_opened_as_a_file_can_be_sent_traces() {
    with_page("sender-file", async |page| {
        let folder = tempfile::tempdir().unwrap();
        let sender = folder.path().join("sender.html");
        std::fs::write(&sender, SENDER).unwrap();
        let one_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/dormer.html");
        page.go_to_file(&sender, "").await;
        let url = json!(format!(
            "file://{}",
            one_file.canonicalize().unwrap().display()
        ));
        page.js(&format!("window.target = open({url})")).await;
        send(page, &message("from a file", &kernels(&[60]), "")).await;
        // It has no origin that could be trusted.
        page.wait_text("#sender-question[open]", "without an origin")
            .await;
        page.wait_for("!$('#sender-always')").await;
        page.click("#sender-open").await;
        page.wait_until_shown(1).await;
        wait_status(page, "opened from a file").await;
    });
}
