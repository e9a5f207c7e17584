#if Telemetry
import HTTPTypes
import InMemoryTracing
import Networking
import Synchronization
import Tracing

/// A tracer that keeps its spans in memory and propagates them as W3C Trace Context.
struct W3CTracer: Tracer {
    let memory = InMemoryTracer(
        idGenerator: .init(
            nextTraceID: { hex(32) },
            nextSpanID: { hex(16) }
        )
    )

    private static func hex(_ digits: Int) -> String {
        String((0..<digits).map { _ in "123456789abcdef".randomElement() ?? "1" })
    }

    var spans: [FinishedInMemorySpan] {
        memory.finishedSpans
    }

    var calls: [FinishedInMemorySpan] {
        spans.filter { $0.kind == .internal }
    }

    /// The spans of exchanges, in the order of their start.
    var attempts: [FinishedInMemorySpan] {
        spans.filter { $0.kind == .client }
            .sorted { $0.startInstant.nanosecondsSinceEpoch < $1.startInstant.nanosecondsSinceEpoch }
    }

    // The protocol determines the names of these parameters.
    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        memory.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Carrier == Inject.Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        injector.inject("memory=1", forKey: "tracestate", into: &carrier)
        if let user = context.user {
            injector.inject("user=\(user)", forKey: "baggage", into: &carrier)
        }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Carrier == Extract.Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier).flatMap({ TraceParent($0) }) else {
            return
        }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: parent.traceID.description,
            spanID: parent.parentID.description,
            parentSpanID: nil
        )
    }
}

extension InstrumentationContext {
    /// A value of the app that is propagated as baggage.
    var user: String? {
        get { self[UserKey.self] }
        set { self[UserKey.self] = newValue }
    }

    private enum UserKey: InstrumentationContextKey {
        typealias Value = String
    }
}

extension FinishedInMemorySpan {
    /// Returns an attribute as text.
    func text(_ name: String) -> String? {
        switch attributes.get(name) {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .stringArray(let texts): texts.joined(separator: "|")
        case nil: nil
        case let other?: "\(other)"
        }
    }

    /// The whole content of the span as text, to search for secrets.
    var everything: String {
        "\(operationName) \(String(describing: status)) \(errors) \(attributes) \(events) \(links)"
    }
}
#endif
