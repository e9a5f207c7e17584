#if Telemetry
import NetworkingCore
import NetworkingObservability
import NetworkingResilience
import NetworkingTraffic
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
    /// The number among the attributes that the metric records; `nil` if it counts the events.
    var number: String?
    /// Whether the metric distinguishes the servers.
    var isPerServer = false
    /// Whether the event is in the span.
    var isInSpan = true

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
        .rejected: ShownKind(
            name: "networking.rejection",
            metric: .rejections,
            dimension: "networking.rejection.reason"
        ),
        .circuitChanged: ShownKind(
            name: "networking.circuit",
            metric: .circuitChanges,
            dimension: "networking.circuit.state"
        ),
        .limitChanged: ShownKind(
            name: "networking.limit",
            metric: .concurrencyLimit,
            number: "networking.limit",
            isPerServer: true
        ),
        .serverLimit: ShownKind(
            name: "networking.server_limit",
            metric: .serverLimits,
            dimension: "networking.server_limit.change"
        ),
        .endpointChanged: ShownKind(
            name: "networking.endpoint",
            metric: .endpointChanges,
            dimension: "networking.endpoint.change"
        ),
        .deprecated: ShownKind(name: "networking.deprecation"),
        .hedge: ShownKind(name: "networking.hedge", metric: .hedges),
        .hedgeWon: ShownKind(name: "networking.hedge.won", metric: .wonHedges),
        .hedgeRefused: ShownKind(
            name: "networking.hedge.refused",
            metric: .refusedHedges,
            dimension: "networking.hedge.refusal"
        ),
        .fallback: ShownKind(
            name: "networking.fallback",
            metric: .fallbacks,
            dimension: "networking.fallback.outcome"
        ),
    ]

    /// The events without a mark, by their name.
    private static let unmarked: [String: ShownKind] = [
        "waited": ShownKind(name: "networking.wait"),
        "redirectRefused": ShownKind(name: "networking.redirect.refused"),
        "credentialsWithheld": ShownKind(name: "networking.credentials.withheld"),
        "cacheFailed": cache("failed"),
        "cacheEvicted": ShownKind(
            metric: .cacheEvictions,
            number: "networking.cache.evicted",
            isInSpan: false
        ),
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

    /// The value that the metric records; `nil` if the event states no number, or one that is not a count.
    var value: Double? {
        guard let number else { return 1 }
        guard case .number(let value) = attributes[number], (0...Self.maximumValue).contains(value) else { return nil }
        return value
    }

    /// The largest count that a `Double` represents exactly.
    private static let maximumValue = 0x1p53

    /// The dimensions of the metric.
    func dimensions(of request: HTTPRequestData, _ options: TelemetryOptions, _ redaction: Redaction) -> Dimensions {
        if isPerServer { return Dimensions(TelemetrySubject(request, options).dimensions.server) }
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
