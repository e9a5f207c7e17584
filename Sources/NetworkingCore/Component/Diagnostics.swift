extension NetworkingComponent {
    /// Returns the options of a request that no part of the stack reads, so that setting them has no effect.
    ///
    /// ```swift
    /// var request = HTTPRequestData(path: "users")
    /// request.logDetail = .headers
    /// print(URLSession.shared.retry().diagnostics(for: request))
    /// // [The request sets logDetail, but no modifier of the stack reads it.]
    /// ```
    ///
    /// Modifiers, transports, interceptors, signers and listeners declare the options that they read
    /// (``RequestOptionReader``). A closure cannot, so an option that only a closure of the app reads is reported too.
    /// Options that the library reads without any modifier, such as ``HTTPRequestData/maximumResponseBytes``, are never
    /// reported.
    ///
    /// - Parameter request: The request, as the app would send it. Options that the stack sets when it rewrites the
    ///   request count too.
    /// - Returns: One diagnostic for each option. The result does not contain those of ``diagnostics``.
    public func diagnostics(for request: HTTPRequestData) -> [StackDiagnostic] {
        let settings = resolved(request).settings
        let read = settings.observers.all.reduce(into: requestOptions) { $0.formUnion($1.requestOptions) }
        return settings.custom.options
            .filter { !$0.box.isNil && $0.option.isReported && !$0.traits.contains(.forbidsResending) }
            .filter { !read.contains($0.option) }
            .map { StackDiagnostic(unread: $0.option) }
    }
}

/// A probable mistake in a stack or in a request.
///
/// Its description is ``message``.
public struct StackDiagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The mistake, its consequence and often the solution, in complete sentences.
    public let message: String

    /// The line of the modifier, or of the transport, in ``NetworkingComponent/outline``.
    ///
    /// `nil` if the diagnostic is about a request.
    public let modifier: String?

    /// The option of a request that no part of the stack reads.
    ///
    /// `nil` if the diagnostic is about a modifier or a transport.
    public let option: RequestOptionKey?

    /// Creates a diagnostic about a modifier.
    ///
    /// - Parameters:
    ///   - message: The mistake and its consequence, in complete sentences. It names the modifier.
    ///   - modifier: The modifier.
    public init(_ message: String, about modifier: some NetworkingModifier) {
        self.message = message
        self.modifier = modifier.outlineName
        option = nil
    }

    /// Creates a diagnostic about a transport.
    ///
    /// - Parameters:
    ///   - message: The mistake and its consequence, in complete sentences.
    ///   - transport: The transport.
    public init(_ message: String, aboutTransport transport: some NetworkingComponent) {
        self.message = message
        modifier = transport.outline
        option = nil
    }

    init(unread option: RequestOptionKey) {
        message = "The request sets \(option), but no modifier of the stack reads it."
        modifier = nil
        self.option = option
    }

    /// The message.
    public var description: String {
        message
    }
}

extension NetworkingModifier {
    /// Reports nothing.
    public func diagnostics(in stack: StackPlace) -> [StackDiagnostic] {
        []
    }

    /// The modifier has no role.
    public var roles: Set<StackRole> {
        []
    }
}
