extension NetworkingComponent {
    /// What is legal in this stack and probably not meant, one sentence each; empty for most.
    ///
    /// Any order of modifiers works. Some orders mean what few people want, and this says which. A test of the app can
    /// keep it empty:
    ///
    /// ```swift
    /// #expect(network.advice.isEmpty)
    /// ```
    public var advice: [String] {
        let parts = stackParts(of: self)
        let retries = parts.indices.filter { parts[$0] is Retry }
        let deadlines = parts.compactMap { ($0 as? Deadline)?.limit }
        var advice: [String] = []
        if retries.count > 1 {
            advice.append(
                "There are \(retries.count) retry modifiers. What an inner one gives up an outer one does not try again; keep "
                    + "one."
            )
        }
        for (index, part) in parts.enumerated() {
            if let sentence = credentialAdvice(for: part, at: index, in: parts) {
                advice.append(sentence)
            }
            if let limiter = limitingObject(of: part),
                parts[..<index].contains(where: { limitingObject(of: $0) === limiter })
            {
                advice.append(
                    "\(part) stands inside a modifier with the same limiter, so requests pass it without another permit. Keep "
                        + "one of the two, or give each a limiter of its own."
                )
            }
            let isOutsideRetry = retries.contains { $0 > index }
            let isInsideRetry = retries.contains { $0 < index }
            switch part {
            case let timeout as Timeout:
                if isOutsideRetry {
                    advice.append(
                        "\(timeout) stands outside retry, so it covers all attempts; for that there is deadline."
                    )
                }
                if let limit = timeout.limits.whole, let deadline = deadlines.min(), limit > deadline {
                    advice.append("\(timeout) is longer than deadline(\(deadline)), so an attempt never gets that far.")
                }
            case let throttled as Throttled where isOutsideRetry:
                advice.append("\(throttled) stands outside retry, so a request holds its slot between attempts.")
            case let limited as RateLimited where isOutsideRetry:
                advice.append("\(limited) stands outside retry, so only the first of its attempts is counted.")
            case let signed as any Signing where isOutsideRetry:
                advice.append("\(signed) stands outside retry, so further attempts repeat the signature of the first.")
            case let cached as Cached:
                if parts[..<index].contains(where: { $0 is any Authenticating }) {
                    advice.append(
                        "\(cached) stands inside authenticated, so it sees credentials and nobody's name, and keeps nothing."
                    )
                }
                if parts[..<index].contains(where: { $0 is any Signing }) {
                    advice.append(
                        "\(cached) stands inside signed, so it does not learn whose key fetched a response; put it outside."
                    )
                }
                if parts[..<index].contains(where: { $0 is Deduplicated }) {
                    advice.append(
                        "\(cached) stands inside deduplicated, so misses for one URL are not shared; put it outside."
                    )
                }
            case let deduplicated as Deduplicated where isInsideRetry:
                advice.append("\(deduplicated) stands inside retry, so those who share an exchange each try again.")
            case is Traced where isInsideRetry:
                advice.append("traced stands inside retry, so each attempt is a trace of its own.")
            case let deadline as Deadline where isInsideRetry:
                advice.append("\(deadline) stands inside retry, so it covers one attempt; for that there is timeout.")
            default:
                break
            }
        }
        return advice
    }
}

/// Returns the object whose permits a part of a stack takes.
private func limitingObject(of part: Any) -> AnyObject? {
    switch part {
    case let throttled as Throttled: throttled.slots
    case let limited as RateLimited: limited.limiter
    default: nil
    }
}

/// Returns a sentence about a part whose credentials belong to one of several servers of its stack.
private func credentialAdvice(for part: Any, at index: Int, in parts: [Any]) -> String? {
    let scope: CredentialScope
    switch part {
    case let part as any Authenticating: scope = part.scope
    case let part as any Signing: scope = part.scope
    case let part as Server where part.setsCredential: scope = CredentialScope([])
    default: return nil
    }
    func server(at index: Int) -> Server? {
        (parts[index] as? Server).flatMap { $0.authority == nil ? nil : $0 }
    }
    // The nearest one outside, or else the nearest one inside.
    guard
        let own = parts.indices[..<index].reversed().lazy.compactMap(server).first
            ?? parts.indices[(index + 1)...].lazy.compactMap(server).first
    else { return nil }
    let other = parts.indices.lazy.compactMap(server)
        .first { server in
            server.authority?.lowercased() != own.authority?.lowercased() && !scope.names(server.authority ?? "")
        }
    return other.map { other in
        "\(part) belongs to \(own), which stands next to it, so requests to \(other) go without its credentials. Keep one of "
            + "the two, or name the authority with the parameter at:."
    }
}

/// The modifiers of a stack, outermost first, and the transport.
func stackParts(of component: some NetworkingComponent) -> [Any] {
    (component as? any Layered)?.parts ?? [component]
}

/// What consists of layers.
private protocol Layered {
    var parts: [Any] { get }
}

extension Modified: Layered {
    fileprivate var parts: [Any] {
        [modifier as Any] + stackParts(of: upstream)
    }
}

extension AnyNetworkingComponent: Layered {
    fileprivate var parts: [Any] {
        stackParts(of: base)
    }
}
