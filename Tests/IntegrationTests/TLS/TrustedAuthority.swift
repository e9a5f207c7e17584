#if canImport(FoundationNetworking)
import CLibraryForNetworking
import Foundation
import Synchronization

/// An authority that URLSession on Linux trusts while a test runs.
///
/// swift-corelibs-foundation gives libcurl the system's authorities and has no setting for others: it reads
/// `URLSessionCertificateAuthorityInfoFile` only on Android. So OpenSSL, which libcurl uses, calls this type for each
/// context that libcurl creates, by a callback that it has for data of applications.
enum TrustedAuthority {
    private typealias Pointer = UnsafeMutableRawPointer
    private typealias Callback = @convention(c) (Pointer?, Pointer?, Pointer?, CInt, CLong, Pointer?) -> Void
    private typealias NewIndex = @convention(c) (CInt, CLong, Pointer?, Callback?, Pointer?, Pointer?) -> CInt
    private typealias LoadLocations = @convention(c) (Pointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> CInt

    private static let file = Mutex<String?>(nil)

    /// Whether libcurl uses an OpenSSL that this type knows how to call.
    static let isAvailable: Bool = {
        guard let newIndex = symbol("CRYPTO_get_ex_new_index", as: NewIndex.self),
            symbol("SSL_CTX_load_verify_locations", as: LoadLocations.self) != nil
        else { return false }
        let classOfContexts: CInt = 1
        let callback: Callback = { context, _, _, _, _, _ in TrustedAuthority.trust(context) }
        return newIndex(classOfContexts, 0, nil, callback, nil, nil) >= 0
    }()

    /// Runs an operation during which new sessions trust an additional authority.
    ///
    /// - Parameters:
    ///   - path: The file with the certificate of the authority, in the format PEM; `nil` for the system's authorities
    ///     alone.
    ///   - body: Creates and uses the sessions. A session keeps the authorities of its first connection.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    static func trusting<Result>(
        _ path: String?,
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        file.withLock { $0 = path }
        defer { file.withLock { $0 = nil } }
        return try await body()
    }

    private static func trust(_ context: Pointer?) {
        guard let path = file.withLock({ $0 }),
            let loadLocations = symbol("SSL_CTX_load_verify_locations", as: LoadLocations.self)
        else { return }
        _ = loadLocations(context, path, nil)
    }

    private static func symbol<Function>(_ name: String, as type: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
}
#endif
