#if Telemetry
import NetworkingCore
import Tracing

/// How the span of a call and the metrics of a stack show the events of one kind.
struct ShownKind: Sendable {
    /// The name in the span; `nil` for the name of the event.
    var name: String?
    var metric: TelemetryMetric?
    /// The word among the attributes by which the metric distinguishes the events.
    var dimension: String?
    /// The time limit that the metric distinguishes.
    var scope: String?
    /// The attributes of an event that states none, such as that of another package.
    var attributes: [String: EventValue] = [:]
    /// The number among the attributes that the metric counts, for an event that is not in the span.
    var count: String?

    private static let marked: [EventMark.Kind: ShownKind] = [
        .retry: ShownKind(name: "networking.retry", metric: .retries, dimension: "error.type"),
        .retryRefused: ShownKind(
            name: "networking.retry.refused",
            metric: .refusedRetries,
            dimension: "networking.retry.refusal"
        ),
        .redirect: ShownKind(name: "networking.redirect", metric: .redirects),
        .shared: ShownKind(name: "networking.shared", metric: .sharedCalls),
        .refresh: ShownKind(name: "networking.credentials.refresh", metric: .credentialRefreshes),
        .timeout: ShownKind(name: "networking.timeout", metric: .timeouts, scope: "attempt"),
        .deadline: ShownKind(name: "networking.deadline", metric: .timeouts, scope: "call"),
        .cacheHit: cache("hit"),
        .cacheMiss: cache("missed"),
        .cacheBypass: cache("bypassed"),
    ]

    /// The events without a mark, by their name.
    private static let unmarked: [String: ShownKind] = [
        "waited": ShownKind(name: "networking.wait"),
        "redirectRefused": ShownKind(name: "networking.redirect.refused"),
        "credentialsWithheld": ShownKind(name: "networking.credentials.withheld"),
        "cacheFailed": cache("failed"),
        "cacheEvicted": ShownKind(metric: .cacheEvictions, count: "networking.cache.evicted"),
    ]

    private static func cache(_ outcome: String) -> ShownKind {
        ShownKind(
            name: "networking.cache",
            metric: .cacheOutcomes,
            dimension: "networking.cache.outcome",
            attributes: ["networking.cache.outcome": .word(outcome)]
        )
    }
}

extension ShownKind {
    /// Returns how an event is shown; `nil` for an event that is neither counted nor in the span.
    init?(_ record: EventRecord, isInSpan: Bool) {
        let known = record.kind.map { Self.marked[$0] } ?? (record.mark == nil ? Self.unmarked[record.name] : nil)
        guard isInSpan || known?.metric != nil else { return nil }
        let attributes = record.attributes
        guard known != nil || attributes != nil else { return nil }
        self = known ?? ShownKind()
        self.attributes.merge(attributes ?? [:]) { $1 }
    }

    /// The number of events that the metric counts.
    var counted: Double {
        guard let count, case .number(let number) = attributes[count] else { return 1 }
        return number
    }

    /// The dimensions of the metric.
    func dimensions(redactedBy redaction: Redaction) -> Dimensions {
        if let scope { return Dimensions("networking.timeout.scope", scope) }
        guard let dimension, case .word(let word) = attributes[dimension] else { return Dimensions() }
        return Dimensions(dimension, redaction.shown(word))
    }

    /// Returns the attributes of the event in the span.
    func spanAttributes(redactedBy redaction: Redaction) -> SpanAttributes {
        attributes.reduce(into: [:]) { shown, attribute in
            switch attribute.value {
            case .word(let word): shown[attribute.key] = redaction.shown(word)
            case .number(let number): shown[attribute.key] = number
            }
        }
    }
}
#endif
