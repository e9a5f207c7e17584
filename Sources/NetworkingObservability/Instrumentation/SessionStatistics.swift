public import NetworkingCore

/// What the calls of a session took together.
public struct SessionStatistics: Sendable {
    /// A kind of call: a host, and a method with the route, where the request names one.
    public struct Route: Sendable, Hashable, CustomStringConvertible {
        /// Where it went; nil for what has no authority, and for all others when there are too many.
        public let host: String?
        /// The method.
        public let method: String
        /// The template of its path (``HTTPRequestData/route``); nil where none is named.
        public let template: String?

        /// `GET api.example.com/users/{id}`.
        public var description: String {
            "\(method) \(host ?? "*")\(template ?? "")"
        }
    }

    /// How many calls have ended.
    public private(set) var calls = 0
    /// How many brought a response with a status code of less than 400.
    public private(set) var successes = 0
    /// How many were cancelled by their caller.
    public private(set) var cancellations = 0
    /// The failures by kind; responses with 400 and above are ``NetworkingError/Kind/status``.
    public private(set) var failures: [NetworkingError.Kind: Int] = [:]
    /// The failures with somebody else's error.
    public private(set) var otherFailures = 0
    /// The responses by status code.
    public private(set) var statuses: [Int: Int] = [:]
    /// How many exchanges transports made.
    public private(set) var attempts = 0
    /// How many attempts were decided upon after one that failed.
    public private(set) var retries = 0
    /// How many redirects were followed.
    public private(set) var redirects = 0
    /// How many calls had credentials renewed.
    public private(set) var refreshes = 0
    /// How many shared an exchange that somebody else began.
    public private(set) var shared = 0
    /// The calls that the cache answered, by how.
    public private(set) var cacheHits: [NetworkEvent.CacheHit: Int] = [:]
    /// How many the cache could not answer.
    public private(set) var cacheMisses = 0
    /// How many the cache let pass.
    public private(set) var cacheBypasses = 0
    /// How many bytes of bodies went out.
    public private(set) var sentBytes: Int64 = 0
    /// How many bytes of bodies came in.
    public private(set) var receivedBytes: Int64 = 0
    /// How many bytes of bodies callers got that did not come over the network for them.
    public private(set) var savedBytes: Int64 = 0
    /// How long calls took, cancelled ones left out.
    public private(set) var durations = DurationDistribution()
    /// Where the distribution of a route is.
    private var indices: [Route: Int] = [:]
    private var distributions: [DurationDistribution] = []
    /// Most calls are of the same kind as the one before, which is found without hashing and without making its name.
    private var latest: (authority: String?, method: String, template: String?, index: Int)?

    /// More than that are counted together.
    private static let maximumRoutes = 256

    /// How long they took by route.
    public var routes: [Route: DurationDistribution] {
        indices.mapValues { distributions[$0] }
    }

    /// How long they took by host.
    public var hosts: [String: DurationDistribution] {
        indices.reduce(into: [:]) { hosts, route in
            hosts[route.key.host ?? "*", default: DurationDistribution()].merge(distributions[route.value])
        }
    }

    /// The part of those calls that the cache answered which it could have; nil where there are none.
    public var cacheRatio: Double? {
        let hits = cacheHits.values.reduce(0, +)
        return hits + cacheMisses == 0 ? nil : Double(hits) / Double(hits + cacheMisses)
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
        switch metrics.cache {
        case .cacheHit(let hit)?: cacheHits[hit, default: 0] += 1
        case .cacheMiss?: cacheMisses += 1
        case .cacheBypass?: cacheBypasses += 1
        default: break
        }
        switch metrics.outcome {
        case .response(let code):
            statuses[code, default: 0] += 1
            if code < 400 { successes += 1 } else { failures[.status, default: 0] += 1 }
        case .failure(let kind?): failures[kind, default: 0] += 1
        case .failure(nil): otherFailures += 1
        case .cancelled:
            cancellations += 1
            // It says how patient somebody was, and not how long anything takes.
            return
        }
        let nanoseconds = metrics.log.end - metrics.log.start
        durations.add(nanoseconds: nanoseconds)
        distributions[index(of: metrics.request)].add(nanoseconds: nanoseconds)
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
    /// The most important of it in a line.
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

    /// What a dump shows: counts and distributions.
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
    /// The authority without userinfo: a request that has one is refused, and counted all the same.
    fileprivate var shownHost: String? {
        guard var host = authority else { return nil }
        if let at = host.utf8.lastIndex(of: UInt8(ascii: "@")) { host = String(host[host.utf8.index(after: at)...]) }
        return hidingMarkedSecrets(in: PrintableText.singleLine(host))
    }
}
