import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import NetworkingObservability

extension CallCapture {
    /// The entries of the call in an archive: one for each exchange, or one for a call without an exchange.
    var entries: [HAR.Entry] {
        let (state, elapsed) = snapshot
        var entries: [HAR.Entry] = []
        // Time before an exchange, such as a backoff or a wait for a permit, counts as blocked.
        var last = Duration.zero
        for (index, exchange) in state.exchanges.enumerated() {
            let end = exchange.end ?? elapsed
            var entry = entry(of: exchange, after: min(last, exchange.start), until: end, state)
            entry.exchange = HAR.Exchange(number: index + 1, isReused: exchange.connection?.isReused)
            entry.call = HAR.Call(id: Int64(id))
            entries.append(entry)
            last = max(last, end)
        }
        if entries.isEmpty {
            entries.append(entryWithoutExchange(state, elapsed))
        }
        entries[0].call = HAR.Call(id: Int64(id), summary: summary(state))
        return entries
    }

    private func entry(
        of exchange: Exchange,
        after last: Duration,
        until end: Duration,
        _ state: State
    ) -> HAR.Entry {
        let timings = exchange.timings(after: last, until: end)
        let response = exchange.response ?? exchange.failure?.response
        var entry = HAR.Entry(
            startedDateTime: timestamp(last),
            time: timings.sum,
            request: har(exchange.request, state.redaction),
            response: response.map { har($0, state.redaction) } ?? HAR.Response(),
            timings: timings
        )
        if entry.response.status == 0, let head = exchange.head {
            // The body did not arrive completely.
            entry.response = HAR.Response(
                head,
                content: HAR.Content(
                    size: 0,
                    mimeType: head.headerFields[.contentType],
                    because: "not kept: it did not arrive completely"
                ),
                redaction: state.redaction
            )
        }
        entry.error = exchange.failure.map { HAR.Failure(kind: $0.kind, reason: $0.reason) }
        if let sent = exchange.sentBytes { entry.request.bodySize = sent }
        if let connection = exchange.connection { entry.describe(connection) }
        return entry
    }

    private func entryWithoutExchange(_ state: State, _ elapsed: Duration) -> HAR.Entry {
        var timings = HAR.Timings()
        timings.wait = (state.end?.metrics.duration ?? elapsed).inMilliseconds
        var entry = HAR.Entry(
            startedDateTime: timestamp(.zero),
            time: timings.sum,
            request: har(state.request, state.redaction),
            response: HAR.Response(),
            timings: timings
        )
        switch state.end?.result {
        case .success(let response):
            entry.response = har(response, state.redaction)
            entry.response.bodySize = 0
        case .failure(let failure):
            entry.response = failure.response.map { har($0, state.redaction) } ?? entry.response
            entry.error = HAR.Failure(kind: failure.kind, reason: failure.reason)
        case nil: break
        }
        return entry
    }

    private func har(_ captured: CapturedRequest, _ redaction: Redaction) -> HAR.Request {
        var har = HAR.Request(captured.request, redaction: redaction)
        guard let left = captured.left else { return har }
        let type = captured.request.headerFields[.contentType] ?? ""
        har.postData =
            captured.parts.map { HAR.PostData($0, mimeType: type, redaction) }
            ?? HAR.PostData(mimeType: type, because: left.reason)
        har.bodySize = left.length ?? -1
        return har
    }

    private func har(_ response: CapturedResponse, _ redaction: Redaction) -> HAR.Response {
        let type = response.head.headerFields[.contentType]
        let content =
            switch response.body {
            case .kept(let data):
                HAR.Content(data, mimeType: type, redaction.forBody(ofStatus: response.head.status.code))
            case .left(let reason, let count): HAR.Content(size: count, mimeType: type, because: reason)
            }
        return HAR.Response(response.head, content: content, redaction: redaction)
    }

    private func timestamp(_ offset: Duration) -> String {
        HAR.timestamp(date.addingTimeInterval(offset.inMilliseconds / 1_000))
    }

    private func summary(_ state: State) -> HAR.Summary {
        let metrics = state.end?.metrics
        let captured = har(state.request, state.redaction)
        var summary = HAR.Summary(
            label: "\(state.request.request.id)",
            method: captured.method,
            url: captured.url,
            startedDateTime: timestamp(.zero),
            state: .pending
        )
        summary.number = state.request.request.number.map { Int64($0) }
        summary.title = state.request.request.route.map(state.redaction.redactingValues)
        switch state.end?.result {
        case .success(let response):
            summary.state = .response
            summary.status = Int64(response.head.status.code)
            if let last = state.exchanges.last {
                let isLastResponse = last.response?.head == response.head && last.response?.body == response.body
                summary.response = isLastResponse ? nil : har(response, state.redaction)
            }
        case .failure(let failure):
            summary.state = state.end?.isCancelled == true ? .cancelled : .failure
            summary.status = failure.response.map { Int64($0.head.status.code) }
            summary.error = HAR.Failure(kind: failure.kind, reason: failure.reason)
        case nil:
            summary.attempts = Int64(state.exchanges.count)
        }
        if let metrics { summary.add(metrics, state.redaction) }
        return summary
    }
}

extension CallCapture.Exchange {
    /// Returns the timings of the exchange that the transport reports.
    fileprivate func timings(after last: Duration, until end: Duration) -> HAR.Timings {
        var timings = HAR.Timings()
        timings.blocked = (start - last).inMilliseconds
        let sent = bodyRead ?? start
        timings.send = (sent - start).inMilliseconds
        var rest = (headReceived ?? end) - sent
        if let resolved = connection?.nameResolution {
            timings.dns = resolved.inMilliseconds
            rest -= resolved
        }
        let measured = connecting.flatMap { connecting in connected.map { $0 - connecting } }
        if let duration = connection?.connecting ?? measured {
            timings.connect = duration.inMilliseconds
            timings.ssl = connection?.securing?.inMilliseconds ?? -1
            rest -= duration
        }
        timings.wait = max(.zero, rest).inMilliseconds
        timings.receive = headReceived.map { max(.zero, end - $0).inMilliseconds } ?? 0
        return timings
    }
}

extension HAR.Entry {
    fileprivate mutating func describe(_ connection: ConnectionMetrics) {
        if let version = connection.protocolVersion {
            request.httpVersion = "HTTP/\(version)"
            response.httpVersion = "HTTP/\(version)"
        }
        serverIPAddress = connection.peerAddress
        self.connection = connection.peerPort.map { "\($0)" }
    }
}

extension HAR.Summary {
    fileprivate mutating func add(_ metrics: CallMetrics, _ redaction: Redaction) {
        time = metrics.duration.inMilliseconds
        attempts = Int64(metrics.attempts)
        sentBytes = metrics.sentBytes
        receivedBytes = metrics.receivedBytes
        savedBytes = metrics.savedBytes
        isShared = metrics.isShared ? true : nil
        // Details may come from another package.
        let detail = metrics.cache?.detail.map(redaction.redactingValues)
        switch metrics.cache?.kind {
        case .cacheHit?: cache = detail.flatMap { Self.noHits.contains($0) ? nil : $0 } ?? "hit"
        case .cacheMiss?: cache = "missed"
        case .cacheBypass?: (cache, cacheReason) = ("bypassed", detail)
        default: break
        }
        let parts = metrics.spans
        let own = CallMetrics.ownDurations(of: parts)
        spans = parts.map { part in
            HAR.Span(
                id: Int64(part.id),
                parent: part.parent.map { Int64($0) },
                kind: part.kind.archiveName,
                name: part.kind.partName,
                start: part.offset.inMilliseconds,
                time: part.duration.inMilliseconds,
                own: own[part.id].inMilliseconds
            )
        }
        for moment in metrics.marks {
            switch moment.mark.kind {
            case .retry: retries += 1
            case .redirect: redirects += 1
            default: break
            }
            let name = redaction.redactingValues(in: "\(moment.mark)")
            marks.append(HAR.Mark(name: name, at: moment.offset.inMilliseconds))
        }
    }

    /// What `cache` contains for calls that no cache has served.
    private static let noHits: Set<String> = ["", "bypassed", "missed"]
}

extension CallMetrics.Span.Kind {
    fileprivate var archiveName: String {
        switch self {
        case .call: "call"
        case .modifier: "modifier"
        case .wait: "wait"
        case .attempt: "attempt"
        case .readingBody: "readingBody"
        case .connecting: "connecting"
        case .firstByte: "firstByte"
        case .body: "body"
        }
    }

    fileprivate var partName: String {
        switch self {
        case .modifier(let name): name
        case .wait(let wait): wait.name
        default: description
        }
    }
}

extension Duration {
    /// The duration in milliseconds, rounded to the microsecond: finer digits are noise and make files longer.
    var inMilliseconds: Double {
        (self / .microseconds(1)).rounded() / 1_000
    }
}
