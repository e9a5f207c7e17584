public import NetworkingCore

/// The statistics of the calls of a session.
public struct SessionStatistics: Sendable {
    /// A group of calls: a host and a method, with the route if the request has one.
    public struct Route: Sendable, Hashable, CustomStringConvertible {
        /// The host; `nil` for calls without an authority, and for all further calls when there are too many routes.
        public let host: String?
        /// The method.
        public let method: String
        /// The template of the path (``HTTPRequestData/route``); `nil` if the request has none.
        public let template: String?

        /// The route as text: `GET api.example.com/users/{id}`.
        public var description: String {
            "\(method) \(host ?? "*")\(template ?? "")"
        }
    }

    /// The number of calls that have ended.
    public private(set) var calls = 0
    /// The number of calls that returned a response with a status code below 400.
    public private(set) var successes = 0
    /// The number of calls that their caller cancelled.
    public private(set) var cancellations = 0
    /// The failures by kind; responses with 400 and above are ``NetworkingError/Kind/status``.
    public private(set) var failures: [NetworkingError.Kind: Int] = [:]
    /// The number of failures with an error of another type.
    public private(set) var otherFailures = 0
    /// The number of responses by status code, including those that the errors of failed calls are about.
    public private(set) var statuses: [Int: Int] = [:]
    /// The number of exchanges that transports made.
    public private(set) var attempts = 0
    /// The number of retries after a failed attempt.
    public private(set) var retries = 0
    /// The number of redirects that were followed.
    public private(set) var redirects = 0
    /// The number of times that credentials were renewed for a call.
    public private(set) var refreshes = 0
    /// The number of calls that shared another call's exchange.
    public private(set) var shared = 0
    /// The number of calls by the result of their cache: `cacheResults[.cacheHit(.fresh)]`.
    ///
    /// There are at most 64 separate results. If a cache of another package reports more, calls with further results
    /// count for the mark of their kind without a detail.
    public private(set) var cacheResults: [EventMark: Int] = [:]
    /// The number of body bytes sent.
    public private(set) var sentBytes: Int64 = 0
    /// The number of body bytes received.
    public private(set) var receivedBytes: Int64 = 0
    /// The number of body bytes that callers received without a separate network transfer.
    public private(set) var savedBytes: Int64 = 0
    /// The durations of all calls except cancelled ones.
    public private(set) var durations = DurationDistribution()
    /// The index of each route's distribution.
    private var indices: [Route: Int] = [:]
    private var distributions: [DurationDistribution] = []
    /// The previous call, which usually has the same route, so that its distribution is found without hashing or
    /// formatting.
    private var latest: (authority: String?, method: String, template: String?, index: Int)?

    /// The maximum number of separate results of caches, because the details of other packages may be arbitrary.
    private static let maximumCacheResults = 64

    /// The maximum number of separate routes; calls of further routes count together.
    private static let maximumRoutes = 256

    /// The durations of calls by route.
    public var routes: [Route: DurationDistribution] {
        indices.mapValues { distributions[$0] }
    }

    /// The durations of calls by host.
    public var hosts: [String: DurationDistribution] {
        indices.reduce(into: [:]) { hosts, route in
            hosts[route.key.host ?? "*", default: DurationDistribution()].merge(distributions[route.value])
        }
    }

    /// The number of calls served from the cache.
    public var cacheHits: Int {
        cacheCount(.cacheHit)
    }

    /// The number of calls for which the cache had no response.
    public var cacheMisses: Int {
        cacheCount(.cacheMiss)
    }

    /// The number of calls that bypassed the cache.
    public var cacheBypasses: Int {
        cacheCount(.cacheBypass)
    }

    private func cacheCount(_ kind: EventMark.Kind) -> Int {
        cacheResults.reduce(0) { $1.key.kind == kind ? $0 + $1.value : $0 }
    }

    /// The share of cacheable calls that were served from the cache; `nil` if there are none.
    public var cacheRatio: Double? {
        let (hits, misses) = (cacheHits, cacheMisses)
        return hits + misses == 0 ? nil : Double(hits) / Double(hits + misses)
    }

    mutating func add(_ metrics: CallMetrics) {
        calls += 1
        sentBytes += metrics.sentBytes
        receivedBytes += metrics.receivedBytes
        savedBytes += metrics.savedBytes
        let tally = metrics.log.tally
        attempts += tally.attempts
        retries += tally.retries
        redirects += tally.redirects
        refreshes += tally.refreshes
        shared += metrics.isShared ? 1 : 0
        if let result = tally.cache { add(result) }
        if let code = metrics.statusCode { statuses[code, default: 0] += 1 }
        switch metrics.outcome {
        case .response(let code):
            if code < 400 { successes += 1 } else { failures[.status, default: 0] += 1 }
        case .failure(let kind?): failures[kind, default: 0] += 1
        case .failure(nil): otherFailures += 1
        case .cancelled:
            cancellations += 1
            // The duration of a cancelled call says nothing about the speed of the server.
            return
        }
        let nanoseconds = metrics.log.end - metrics.log.start
        durations.add(nanoseconds: nanoseconds)
        distributions[index(of: metrics.request)].add(nanoseconds: nanoseconds)
    }

    private mutating func add(_ result: EventMark) {
        let isSeparate = cacheResults.count < Self.maximumCacheResults || cacheResults[result] != nil
        cacheResults[isSeparate ? result : EventMark(result.kind), default: 0] += 1
    }

    private mutating func index(of request: HTTPRequestData) -> Int {
        let (authority, method, template) = (request.authority, request.method.rawValue, request.route)
        if let latest, latest.authority == authority, latest.method == method, latest.template == template {
            return latest.index
        }
        var route = Route(host: request.shownHost, method: method, template: template)
        if indices.count >= Self.maximumRoutes, indices[route] == nil {
            route = Route(host: nil, method: "*", template: nil)
        }
        let index = indices[route] ?? distributions.count
        if index == distributions.count {
            indices[route] = index
            distributions.append(DurationDistribution())
        }
        latest = (authority, method, template, index)
        return index
    }
}

extension SessionStatistics: CustomStringConvertible, CustomReflectable {
    /// The most important values in one line.
    public var description: String {
        var parts = ["\(calls) calls", "\(successes) successes"]
        let failed = failures.values.reduce(otherFailures, +)
        if failed > 0 { parts.append("\(failed) failures") }
        if cancellations > 0 { parts.append("\(cancellations) cancelled") }
        if retries > 0 { parts.append("\(retries) retries") }
        if let cacheRatio { parts.append("\(Int((cacheRatio * 100).rounded())) % from the cache") }
        parts.append("p50 \(durations.p50.milliseconds), p95 \(durations.p95.milliseconds)")
        return parts.joined(separator: ", ")
    }

    /// A mirror of counts and distributions, for dumps.
    public var customMirror: Mirror {
        let kinds = failures.map { "\($0.key.rawValue): \($0.value)" }.sorted().joined(separator: ", ")
        return Mirror(
            self,
            children: [
                "statistics": description,
                "failures": kinds,
                "routes": routes.map { "\($0.key): \($0.value)" }.sorted().joined(separator: "; "),
                "bytes": "\(sentBytes) sent, \(receivedBytes) received, \(savedBytes) saved",
            ]
        )
    }
}

extension HTTPRequestData {
    /// The authority without userinfo; a request with userinfo is refused, but counted.
    fileprivate var shownHost: String? {
        guard var host = authority else { return nil }
        if let at = host.utf8.lastIndex(of: UInt8(ascii: "@")) { host = String(host[host.utf8.index(after: at)...]) }
        return redactingMarkedSecrets(in: PrintableText.singleLine(host))
    }
}
