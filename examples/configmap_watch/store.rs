//! The ConfigMap, what happened to it, and how both look in JSON.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The ConfigMap's namespace.
pub const NAMESPACE: &str = "kube-system";
/// The ConfigMap's name.
pub const NAME: &str = "coredns";
/// The resourceVersion that the ConfigMap begins with. Two digits, as in the
/// recording `k8s-watch-coredns.pcap`, so that the sizes are the same.
const FIRST_VERSION: u64 = 70;
/// Events that are kept for watches from an older resourceVersion.
const HISTORY: usize = 256;
/// How often a waiting watch looks whether its client is still there.
const GLANCE: Duration = Duration::from_millis(100);

const COREFILE: &str = "\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
";

/// Members are written in the order of an API server.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata,
    data: BTreeMap<String, String>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: &'static str,
    namespace: &'static str,
    uid: String,
    resource_version: String,
    creation_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    managed_fields: [ManagedFields; 1],
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFields {
    manager: &'static str,
    operation: &'static str,
    api_version: &'static str,
    time: String,
    fields_type: &'static str,
    fields_v1: BTreeMap<&'static str, BTreeMap<String, BTreeMap<(), ()>>>,
}

impl ConfigMap {
    fn new(uid: String, created: String, version: u64, wanted: Wanted) -> Self {
        let fields = [".".to_owned()]
            .into_iter()
            .chain(wanted.data.keys().map(|key| format!("f:{key}")))
            .map(|name| (name, BTreeMap::new()))
            .collect();
        Self {
            kind: "ConfigMap",
            api_version: "v1",
            metadata: Metadata {
                name: NAME,
                namespace: NAMESPACE,
                uid,
                resource_version: version.to_string(),
                creation_timestamp: created,
                labels: wanted.metadata.labels.unwrap_or_default(),
                annotations: wanted.metadata.annotations.unwrap_or_default(),
                managed_fields: [ManagedFields {
                    manager: "example",
                    operation: "Update",
                    api_version: "v1",
                    time: now(),
                    fields_type: "FieldsV1",
                    fields_v1: BTreeMap::from([("f:data", fields)]),
                }],
            },
            data: wanted.data,
        }
    }
}

/// A watch event (or, as its object, a Status).
#[derive(Serialize)]
struct WatchEvent<'a, T> {
    r#type: &'a str,
    object: &'a T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMetadata,
    items: Vec<&'a ConfigMap>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
}

/// How an API server says what went wrong, or that something was deleted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    kind: &'static str,
    api_version: &'static str,
    metadata: BTreeMap<(), ()>,
    status: &'static str,
    message: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    pub code: u16,
}

impl Status {
    /// A failure, with the HTTP status it goes with.
    pub fn failure(code: u16, reason: &'static str, message: String) -> Self {
        Self {
            kind: "Status",
            api_version: "v1",
            metadata: BTreeMap::new(),
            status: "Failure",
            message,
            reason,
            code,
        }
    }

    fn expired(version: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {version} ({oldest})");
        Self::failure(410, "Expired", message)
    }

    /// There is no such ConfigMap.
    pub fn not_found() -> Self {
        Self::failure(404, "NotFound", format!("configmaps \"{NAME}\" not found"))
    }

    /// What the client sent makes no sense.
    pub fn bad_request(message: impl ToString) -> Self {
        Self::failure(400, "BadRequest", message.to_string())
    }
}

/// What of a PUT counts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wanted {
    kind: Option<String>,
    api_version: Option<String>,
    #[serde(default)]
    metadata: WantedMetadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WantedMetadata {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Wanted {
    /// Whether it is this ConfigMap that is meant.
    fn check(&self) -> Result<(), Status> {
        let meant = [
            ("kind", &self.kind, "ConfigMap"),
            ("apiVersion", &self.api_version, "v1"),
            ("metadata.name", &self.metadata.name, NAME),
            ("metadata.namespace", &self.metadata.namespace, NAMESPACE),
        ];
        for (member, given, ours) in meant {
            if let Some(given) = given
                && given != ours
            {
                let message = format!("{member} is {given:?}, and {ours:?} in the request's path");
                return Err(Status::bad_request(message));
            }
        }
        Ok(())
    }
}

/// An event as it goes over the wire, without its chunk.
struct Logged {
    version: u64,
    line: Arc<[u8]>,
}

/// The ConfigMap, and what happened to it.
pub struct Store {
    state: Mutex<State>,
    /// Something was logged.
    changed: Condvar,
}

struct State {
    map: Option<ConfigMap>,
    /// The resourceVersion of the last change.
    version: u64,
    /// The last changes, oldest first. Their versions follow each other without a gap.
    log: VecDeque<Logged>,
}

impl Store {
    /// A store with the ConfigMap as it begins.
    pub fn new() -> Self {
        let wanted = Wanted {
            kind: None,
            api_version: None,
            metadata: WantedMetadata::default(),
            data: BTreeMap::from([("Corefile".to_owned(), COREFILE.to_owned())]),
        };
        let state = State {
            map: Some(ConfigMap::new(uuid(), now(), FIRST_VERSION, wanted)),
            version: FIRST_VERSION,
            log: VecDeque::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the ConfigMap, or creates it; the answer says which.
    pub fn put(&self, body: &[u8]) -> Result<(bool, Vec<u8>), Status> {
        let wanted: Wanted = serde_json::from_slice(body).map_err(Status::bad_request)?;
        wanted.check()?;
        let mut state = self.lock();
        let given = wanted.metadata.resource_version.as_deref().unwrap_or("");
        let current = state.map.as_ref().map(|map| &map.metadata.resource_version);
        if !given.is_empty() && current.is_some_and(|current| current != given) {
            let message = format!(
                "Operation cannot be fulfilled on configmaps \"{NAME}\": the object has been \
                 modified; please apply your changes to the latest version and try again"
            );
            return Err(Status::failure(409, "Conflict", message));
        }
        let version = state.version.saturating_add(1);
        let (kind, uid, created) = match &state.map {
            Some(old) => {
                let old = &old.metadata;
                ("MODIFIED", old.uid.clone(), old.creation_timestamp.clone())
            }
            None => ("ADDED", uuid(), now()),
        };
        let map = ConfigMap::new(uid, created, version, wanted);
        state.log(version, line(kind, &map));
        let answer = json(&map);
        state.map = Some(map);
        self.changed.notify_all();
        Ok((kind == "ADDED", answer))
    }

    /// Deletes the ConfigMap.
    pub fn delete(&self) -> Result<Vec<u8>, Status> {
        let mut state = self.lock();
        let mut map = state.map.take().ok_or_else(Status::not_found)?;
        // The event shows the last state, with the deletion's resourceVersion.
        let version = state.version.saturating_add(1);
        map.metadata.resource_version = version.to_string();
        state.log(version, line("DELETED", &map));
        self.changed.notify_all();
        Ok(json(&Status {
            kind: "Status",
            api_version: "v1",
            metadata: BTreeMap::new(),
            status: "Success",
            message: format!("configmaps \"{NAME}\" deleted"),
            reason: "",
            code: 200,
        }))
    }

    /// The ConfigMap, in JSON.
    pub fn get(&self) -> Result<Vec<u8>, Status> {
        self.lock().map.as_ref().map(json).ok_or_else(Status::not_found)
    }

    /// The list of all ConfigMaps, in JSON.
    pub fn list(&self) -> Vec<u8> {
        let state = self.lock();
        json(&List {
            kind: "ConfigMapList",
            api_version: "v1",
            metadata: ListMetadata { resource_version: state.version.to_string() },
            items: state.map.iter().collect(),
        })
    }

    /// The current resourceVersion, and the event with which a watch begins
    /// that wants to see first what there is.
    pub fn begin(&self) -> (u64, Option<Vec<u8>>) {
        let state = self.lock();
        (state.version, state.map.as_ref().map(|map| line("ADDED", map)))
    }

    /// The events behind the resourceVersion `seen`, in order, each with the
    /// LF that ends it. If there are none, it waits for them, but at most a glance.
    pub fn wait(&self, seen: u64, deadline: Instant) -> Result<Vec<Arc<[u8]>>, Status> {
        let mut state = self.lock();
        if state.version <= seen {
            let glance = GLANCE.min(deadline.saturating_duration_since(Instant::now()));
            state = self
                .changed
                .wait_timeout(state, glance)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
        state.since(seen)
    }
}

impl State {
    fn log(&mut self, version: u64, line: Vec<u8>) {
        self.version = version;
        if self.log.len() == HISTORY {
            self.log.pop_front();
        }
        let line = line.into();
        self.log.push_back(Logged { version, line });
    }

    /// The events behind a version, which may be too old to know them all.
    fn since(&self, version: u64) -> Result<Vec<Arc<[u8]>>, Status> {
        let oldest = self.log.front().map_or(self.version, |e| e.version.saturating_sub(1));
        if version < oldest {
            return Err(Status::expired(version, oldest));
        }
        let later = self.log.iter().filter(|e| e.version > version);
        Ok(later.map(|e| Arc::clone(&e.line)).collect())
    }
}

/// A watch event and the LF that ends it.
pub fn line<T: Serialize>(kind: &str, object: &T) -> Vec<u8> {
    let mut line = json(&WatchEvent { r#type: kind, object });
    line.push(b'\n');
    line
}

/// JSON as an API server writes it: compact, members in their order.
pub fn json<T: Serialize>(value: &T) -> Vec<u8> {
    // Structs, and maps with string keys, can always be written.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Now, in seconds, as Kubernetes writes it.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A random UUID (RFC 9562, version 4).
pub fn uuid() -> String {
    // The standard library seeds each of these hashers differently.
    let random = || RandomState::new().hash_one(());
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        8 | low >> 62,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}
