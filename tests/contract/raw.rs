//! Contract §4, "Under `--raw`".

use serde_json::json;

use crate::talk::*;

fn raw(octets: impl AsRef<[u8]>) -> Seen {
    run(octets.as_ref(), &["--raw"])
}

fn watch_head() -> String {
    head("application/json;stream=watch")
}

#[test]
fn under_raw_stream_ends_times_and_request_are_null_and_frames_empty() {
    let mut octets = watch_head().into_bytes();
    octets.extend(chunk(event("a")));
    octets.extend(LAST.as_bytes());
    let seen = raw(&octets);
    let exchange = &seen.exchanges()[0];
    for member in ["stream", "client", "server", "request"] {
        assert!(exchange[member].is_null(), "{member}");
    }
    assert!(exchange["response"]["frame"].is_null() && exchange["response"]["time"].is_null());
    let part = &exchange.chunks()[0];
    assert_eq!(part["frames"], json!([]));
    assert!(part["first_time"].is_null() && part["time"].is_null());
    assert_eq!(exchange.body()["last_chunk"]["frames"], json!([]));
    assert!(exchange.body()["last_chunk"]["time"].is_null());
    assert_eq!(exchange.verdicts(), ["one"]);
    let capture = seen.capture();
    assert_eq!(
        (&capture["format"], &capture["link_types"], &capture["packets"]),
        (&json!("http"), &json!([]), &json!(0))
    );
    assert!(capture["first_time"].is_null() && capture["last_time"].is_null());
    assert_eq!(seen.status, 0);
}

#[test]
fn under_raw_a_response_that_stops_early_is_open() {
    let stopped = raw(format!("{}ff\r\nhalf", watch_head()));
    assert_eq!(stopped.exchanges()[0].end(), "open");
    assert_eq!(stopped.exchanges()[0].verdicts(), ["unchecked"]);
    assert_eq!(stopped.status, 3);
    let short = raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(short.exchanges()[0].end(), "open");
}

#[test]
fn under_raw_a_response_that_the_close_delimits_is_complete() {
    let seen = raw("HTTP/1.0 200 OK\r\n\r\nhello");
    let body = seen.exchanges()[0].body().clone();
    assert_eq!(
        (&body["framing"], &body["end"], &body["size"]),
        (&json!("close"), &json!("complete"), &json!(5))
    );
}

#[test]
fn under_raw_responses_follow_each_other() {
    let seen =
        raw(format!("HTTP/1.1 100 Continue\r\n\r\n{}{LAST}HTTP/1.1 204 No Content\r\n\r\n", watch_head()));
    let statuses: Vec<_> = seen.exchanges().iter().map(|e| e["response"]["status"].clone()).collect();
    assert_eq!(statuses, [json!(200), json!(204)]);
    assert_eq!(seen.exchanges()[1]["index"], 1);
}

#[test]
fn under_raw_a_json_body_that_begins_with_a_watch_event_is_a_watch() {
    let mut octets = HEAD.as_bytes().to_vec();
    octets.extend(chunk(event("a")));
    octets.extend(chunk("oops"));
    let seen = raw(&octets);
    assert_eq!(seen.exchanges()[0]["expect"], "watch");
    assert_eq!(seen.exchanges()[0].verdicts(), ["one", "invalid"]);
    assert!(seen.exchanges()[0]["violations"][0]["frame"].is_null());
    assert_eq!(seen.status, 1);
}

#[test]
fn what_is_no_response_is_an_error_under_raw() {
    let seen = raw("{\"type\":\"ADDED\"}");
    assert_eq!((seen.status, &seen.capture()["format"]), (2, &json!(null)));
    assert!(seen.messages.contains("curl --raw -i"));
}

#[test]
fn several_raw_inputs_are_several_captures() {
    let mut octets = watch_head().into_bytes();
    octets.extend(chunk(event("a")));
    let (one, two) = (file("one.http", &octets), file("two.http", &octets));
    let seen = run_on(&[&one, &two], &["--raw"]);
    assert_eq!((seen.summary("captures"), seen.summary("exchanges"), seen.status), (2, 2, 0));
}
