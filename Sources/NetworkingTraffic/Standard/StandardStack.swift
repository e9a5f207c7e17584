public import NetworkingCore

/// A preset of modifiers with their settings, for ``NetworkingComponent/standard(_:)``.
///
/// A preset is a value. Its parts are replaced and removed by name, and an app's own modifiers are inserted at a named
/// place:
///
/// ```swift
/// extension StandardStack {
///     static let shop = StandardStack.app
///         .removing(.circuitBreaker)
///         .replacing(.concurrencyLimit) { $0.throttled(maxPerHost: 12) }
///         .inserting(inside: .retry) { $0.numbered() }
/// }
///
/// let network = URLSession.shared.standard(.shop)
/// ```
///
/// Each stack that is built with a preset has its own limits, circuits and budgets. To share them, replace the part by
/// one with a shared object: `.replacing(.circuitBreaker) { $0.circuitBreaker(by: breaker) }`.
public struct StandardStack: Sendable {
    /// A part of a preset, by which it is replaced or removed; innermost first.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        /// `timeout`: the time limits of an attempt.
        case timeout
        /// `throttled` or `adaptiveLimit`: the number of concurrent requests.
        case concurrencyLimit
        /// `rateLimited`: the limits that the server reports.
        case rateLimit
        /// `circuitBreaker`: refuses requests to a server that fails.
        case circuitBreaker
        /// `retry`: repeats failed requests.
        case retry
        /// `deduplicated`: sends identical concurrent requests once.
        case deduplication
        /// `deadline`: the time limit of a call.
        case deadline
    }

    /// Adds modifiers to a component.
    public typealias Layer = @Sendable (_ component: any NetworkingComponent) -> any NetworkingComponent

    /// The preset for an app: few calls to each server, over a connection that may be slow.
    ///
    /// From the transport outwards:
    ///
    /// | Part | Modifier |
    /// |---|---|
    /// | `timeout` | 10 s to connect, 10 s to the head, 20 s without progress; not for a stream that is silent |
    /// | `concurrencyLimit` | `throttled(maxPerHost: 6)` |
    /// | `rateLimit` | the limits that the server reports; waits up to 60 s |
    /// | `circuitBreaker` | ``CircuitBreaker/Policy/app``: half of 10 calls in 30 s, or 5 connection failures |
    /// | `retry` | 3 times, full jitter from 200 ms to 20 s, a budget of 20 % of the calls of 10 s plus 100 |
    /// | `deduplication` | GET, HEAD and QUERY |
    /// | `deadline` | 30 s to the head; not for requests with a sink, from a file or with more than 1 MiB |
    public static let app = StandardStack(description: ".app", numbers: .app)

    /// The preset for a server: many calls to services that are near.
    ///
    /// From the transport outwards:
    ///
    /// | Part | Modifier |
    /// |---|---|
    /// | `timeout` | 2 s to connect, 10 s to the head, 10 s without progress; not for a stream that is silent |
    /// | `concurrencyLimit` | `adaptiveLimit()`: from 6, 1 to 200 |
    /// | `rateLimit` | the limits that the server reports; waits up to 60 s |
    /// | `circuitBreaker` | ``CircuitBreaker/Policy/server``: a fifth of 50 calls in 30 s, or 5 connection failures |
    /// | `retry` | 2 times, full jitter from 200 ms to 20 s, a budget of 20 % of the calls of 10 s plus 100 |
    /// | `deduplication` | GET, HEAD and QUERY |
    /// | `deadline` | 10 s to the head; not for requests with a sink, from a file or with more than 1 MiB |
    public static let server = StandardStack(description: ".server", numbers: .server)

    /// The preset as it is spelled: `.app.removing(.retry)`.
    public private(set) var description: String
    private var layers: [Part: Layer]
    private var inserted: [Part: [Layer]] = [:]

    init(description: String, numbers: StandardNumbers) {
        (self.description, layers) = (description, numbers.layers)
    }

    /// Returns a preset without one of the parts.
    ///
    /// - Parameter part: The part.
    /// - Returns: The preset.
    public func removing(_ part: Part) -> StandardStack {
        var stack = self
        stack.layers[part] = nil
        stack.description += ".removing(.\(part))"
        return stack
    }

    /// Returns a preset with another modifier in place of one of the parts.
    ///
    /// ```swift
    /// let patient = StandardStack.app.replacing(.deadline) { $0.deadline(.seconds(60), exemptsTransfers: true) }
    /// ```
    ///
    /// - Parameters:
    ///   - part: The part; a part that was removed returns to its place.
    ///   - layer: Adds the modifier. It runs once for each stack that is built.
    /// - Returns: The preset.
    public func replacing(_ part: Part, with layer: @escaping Layer) -> StandardStack {
        var stack = self
        stack.layers[part] = layer
        stack.description += ".replacing(.\(part))"
        return stack
    }

    /// Returns a preset with a further modifier directly inside one of the parts, that is, nearer to the transport.
    ///
    /// ```swift
    /// let signedIn = StandardStack.app.inserting(inside: .retry) { $0.authenticated(with: tokens) }
    /// ```
    ///
    /// - Parameters:
    ///   - part: The part, which marks the place even if it was removed. Of several modifiers at a place, the last one
    ///     is the outermost.
    ///   - layer: Adds the modifier. It runs once for each stack that is built.
    /// - Returns: The preset.
    public func inserting(inside part: Part, _ layer: @escaping Layer) -> StandardStack {
        var stack = self
        stack.inserted[part, default: []].append(layer)
        stack.description += ".inserting(inside: .\(part))"
        return stack
    }

    /// Returns a component in the modifiers of the preset.
    func applied(to component: any NetworkingComponent) -> any NetworkingComponent {
        Part.allCases.reduce(component) { inner, part in
            let layers = (inserted[part] ?? []) + [layers[part]].compactMap { $0 }
            return layers.reduce(inner) { inner, layer in
                let outer = layer(inner)
                precondition(
                    outer.length >= inner.length,
                    "a layer at \(part) must send through the component that it receives (its outline is "
                        + "\(outer.outline))"
                )
                return outer
            }
        }
    }

    /// Whether the preset has a part of its own, replaced or not.
    func has(_ part: Part) -> Bool {
        layers[part] != nil
    }
}

extension StandardStack: CustomStringConvertible {}

extension NetworkingComponent {
    /// The number of components that a request passes.
    fileprivate var length: Int {
        sequence(first: self as any NetworkingComponent) { $0.upstream as? any NetworkingComponent }
            .reduce(0) { count, _ in count + 1 }
    }
}
