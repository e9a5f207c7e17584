#if canImport(Darwin) || URLSession
public import Foundation

extension Certificate {
    /// Returns the certificates of a file in a bundle: `name.cer`, `name.der`, `name.crt` or `name.pem`.
    ///
    /// ```swift
    /// let certificates = try Certificate.bundled("api-2026") + Certificate.bundled("api-2027")
    /// let pins = HostPins("api.example.com", certificates: certificates)
    /// ```
    ///
    /// Reads the file on the calling thread. The first file that exists is used.
    ///
    /// - Parameters:
    ///   - name: The name without its extension.
    ///   - bundle: The bundle; the app's main bundle by default.
    /// - Returns: The certificates, at least one.
    /// - Throws: ``ServerTrustError`` if there is no such file, or it has no valid certificate.
    public static func bundled(_ name: String, in bundle: Bundle = .main) throws(ServerTrustError) -> [Certificate] {
        let extensions = ["cer", "der", "crt", "pem"]
        guard let url = extensions.lazy.compactMap({ bundle.url(forResource: name, withExtension: $0) }).first else {
            throw ServerTrustError(
                "The bundle has no file \(name) with one of the extensions \(extensions.joined(separator: ", "))."
            )
        }
        return try contents(of: url)
    }
}
#endif
