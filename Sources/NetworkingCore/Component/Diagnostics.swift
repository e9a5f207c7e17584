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
    /// Modifiers, transports, interceptors and signers declare the options that they read (``StackPart/options``), and
    /// so do listeners (``NetworkEventObserver/requestOptions``). A closure cannot, so an option that only a closure of
    /// the app reads is reported too. Options that the library reads without any modifier, such as
    /// ``HTTPRequestData/maximumResponseBytes``, are never reported.
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

    init(_ message: String, about part: String) {
        self.message = message
        modifier = part
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
