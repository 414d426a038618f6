//! What holds for every HTML page, whatever it shows.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashSet;

use regex::Regex;

/// What holds for every page: elements close in order, ids are unique, links
/// lead to them, and nothing is loaded from anywhere.
pub fn assert_page(page: &str) {
    let tags =
        Regex::new(r#"<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][a-zA-Z0-9:-]*(?:="[^"<]*")?)*)\s*(/?)>"#)
            .unwrap();
    let code = Regex::new("(?s)<(style|script)>.*?</(style|script)>").unwrap();
    let body = code.replace_all(page, "");
    let opening = body.matches('<').count();
    let found = tags.find_iter(&body).count() + 1; // the doctype
    assert_eq!(opening, found, "a < that opens no tag");
    let mut open: Vec<&str> = Vec::new();
    let (mut ids, mut links) = (HashSet::new(), Vec::new());
    let attribute = Regex::new(r#"\s([a-zA-Z][a-zA-Z0-9:-]*)="([^"]*)""#).unwrap();
    for tag in tags.captures_iter(&body) {
        let (name, attributes) = (tag.get(2).unwrap().as_str(), tag.get(3).unwrap().as_str());
        for pair in attribute.captures_iter(attributes) {
            let (key, value) = (pair[1].to_owned(), pair[2].to_owned());
            match key.as_str() {
                "id" => assert!(ids.insert(value.clone()), "two elements with the id {value}"),
                "href" => links.push(value),
                "aria-labelledby" => links.extend(value.split(' ').map(|id| format!("#{id}"))),
                "style" | "src" | "srcset" | "action" => panic!("{key} in {name}"),
                key => assert!(!key.starts_with("on"), "{key} in {name}"),
            }
        }
        let void = ["meta", "input", "br"].contains(&name);
        match (&tag[1], &tag[4]) {
            ("/", _) => assert_eq!(open.pop(), Some(name)),
            (_, "/") => {}
            _ if void => {}
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for link in links {
        let target = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads out of the page"));
        assert!(ids.contains(target), "{link} leads nowhere");
    }
    // Text may name addresses; what the browser obeys may not.
    let outside =
        Regex::new(r"(?i)url\(|@import|https?://|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(").unwrap();
    for own in code.find_iter(page) {
        let own = own.as_str().replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.is_match(&own), "{own}");
    }
}
