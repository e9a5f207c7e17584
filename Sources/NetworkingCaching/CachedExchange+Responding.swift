import FoundationForNetworking
import HTTPTypes
import NetworkingCore

extension CachedExchange {
    /// Returns the response to the request from an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - age: The age of the entry, in seconds.
    ///   - hit: The reason for using it.
    ///   - status: The status of the server's response, if there was one.
    ///   - refusal: The reason why the entry that the server has confirmed is not stored; `nil` if it is.
    /// - Returns: The response. If the request has a sink, the body has gone to the sink.
    /// - Throws: `CancellationError`, or the sink's error.
    func respond(
        with entry: CachedEntry,
        age: Double,
        _ hit: CacheHit,
        _ status: HTTPResponse.Status? = nil,
        unstored refusal: CacheBypass? = nil
    ) async throws -> HTTPResponseData {
        try Task.checkCancellation()
        request.emit(CacheEvent.hit(hit))
        var head = entry.response
        let withheld = cache.rules.directives(of: entry).fieldNames(.noCache)
        if !withheld.isEmpty {
            let names = Set(withheld)
            head.headerFields.removeAll { names.contains($0.name.canonicalName) }
        }
        head.headerFields[.age] = "\(Int(min(age, 2_147_483_647)))"
        var body = entry.body
        if request.alreadyHas(entry) {
            head.status = .notModified
            body = Data()
        } else if let bounds = request.wantedBytes(of: entry) {
            let offset = entry.part?.range.lowerBound ?? 0
            let length = entry.part.map { $0.length } ?? entry.body.count
            body = body.subdata(in: bounds.lowerBound - offset..<bounds.upperBound - offset)
            head.status = .partialContent
            head.headerFields[.contentRange] =
                "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length.map { "\($0)" } ?? "*")"
            head.headerFields[.contentLength] = "\(body.count)"
        }
        if request.method == .head {
            body = Data()
        }
        // A cookie jar outside the cache has already stored these cookies, and the server may have changed them since.
        if request.areCookiesHandled {
            head.headerFields[.setCookie] = nil
        }
        var response = HTTPResponseData(request: request, http: head, body: .collected(body))
        response.principal = key.principal
        response.cacheRecord = record(of: entry, age: age, hit, status, unstored: refusal)
        if let sink = request.sink, head.status != .notModified {
            try await response.deliver(to: sink, for: request)
        }
        return response
    }

    /// Returns the response for a request that may not be sent and has no usable entry (RFC 9111 section 5.2.1.7).
    func unsatisfiable() -> HTTPResponseData {
        request.emit(CacheEvent.missed)
        var response = HTTPResponseData(request: request, status: .gatewayTimeout)
        var record = CacheRecord()
        record.status.detail = "only-if-cached"
        response.cacheRecord = record
        return response
    }

    private func record(
        of entry: CachedEntry,
        age: Double,
        _ hit: CacheHit,
        _ status: HTTPResponse.Status?,
        unstored refusal: CacheBypass?
    ) -> CacheRecord {
        var record = CacheRecord(age: age, source: (key, entry))
        record.status.isHit = [.fresh, .stale, .offline].contains(hit)
        var left = cache.rules.lifetime(of: entry) - age
        if case .fixed(let duration) = request.cacheMode {
            left = duration / .seconds(1) - (age - entry.facts.initialAge)
        }
        record.status.lifetimeLeft = Int(max(-1e9, min(1e9, left)).rounded(.down))
        switch hit {
        case .fresh: break
        case .stale: record.status.detail = "stale-while-revalidate"
        case .standIn: record.status.detail = "stale-if-error"
        case .offline: record.status.detail = "offline"
        case .revalidated: (record.status.isStored, record.status.detail) = (refusal == nil, refusal?.rawValue)
        }
        if !record.status.isHit {
            record.status.forward = .stale
            record.status.forwardStatus = status?.code
        }
        return record
    }
}

extension HTTPRequestData {
    /// Returns the bytes of an entry's representation that the request asks for; `nil` for all of it.
    fileprivate func wantedBytes(of entry: CachedEntry) -> Range<Int>? {
        guard !headerFields.isEmpty, method.isStorable, entry.response.status == .ok || entry.part != nil,
            let range = byteRange,
            ifRangeHolds(for: entry.response)
        else { return nil }
        return range.bounds(of: entry.part.map { $0.length } ?? entry.body.count)
    }
}
