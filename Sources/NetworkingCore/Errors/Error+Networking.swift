#if canImport(Darwin)
import Foundation
#endif

extension Error {
    /// Whether the error only says that the caller was cancelled, so that there is nothing to show.
    ///
    /// ```swift
    /// do {
    ///     show(try await network.data(request))
    /// } catch {
    ///     if !error.isCancelled { show(error) }
    /// }
    /// ```
    ///
    /// `true` for `CancellationError`, which is the error that this library throws to a cancelled caller. On Apple's
    /// platforms it is also `true` for `URLError.cancelled`, which other code may throw. An ``ErrorWrapper`` is
    /// cancelled if its underlying error is.
    public var isCancelled: Bool {
        let error = unwrapped
        if error is CancellationError { return true }
        #if canImport(Darwin)
        return (error as? URLError)?.code == .cancelled
        #else
        return false
        #endif
    }

    /// The error as an error of this library; `nil` if it is any other error.
    ///
    /// If the error is an ``ErrorWrapper``, this is its underlying error.
    ///
    /// ```swift
    /// if error.networkingError?.isOffline == true { showOfflineBanner() }
    /// ```
    public var networkingError: NetworkingError? {
        self as? NetworkingError ?? unwrapped as? NetworkingError
    }
}
