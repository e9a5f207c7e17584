/// The domains under which different owners register their names, such as `com` and `co.uk`.
///
/// A server may not set a cookie for such a domain, because the cookie would reach the servers of other owners. The
/// same list decides which hosts belong to one site.
///
/// The standard list is short. An app with the whole public suffix list passes a closure that looks it up:
///
/// ```swift
/// let suffixes = PublicSuffixes { domain in
///     ["com", "example.net"].contains(domain)
/// }
/// let jar = CookieJar(publicSuffixes: suffixes)
/// ```
public struct PublicSuffixes: Sendable {
    private let isListed: @Sendable (String) -> Bool

    /// Creates a list from a closure.
    ///
    /// - Parameter isPublicSuffix: Returns `true` for a public suffix. The domain is in lower case, in ASCII, and
    ///   without a leading dot. Names of a single label, such as `com`, are always public suffixes, and are not passed
    ///   to the closure. It must be fast, because it is called for each request.
    public init(_ isPublicSuffix: @escaping @Sendable (_ domain: String) -> Bool) {
        isListed = isPublicSuffix
    }

    /// The library's own list: names of a single label, the common second labels of countries, and some large hosting
    /// services.
    ///
    /// The public suffix list has 9,000 more.
    public static let standard = PublicSuffixes { standardSuffixes.contains($0) || isOfCountry($0) }

    /// Returns whether the domains below a name belong to different owners.
    ///
    /// - Parameter domain: The domain, in lower case and without a leading dot.
    /// - Returns: Whether it is a public suffix. A name with an empty label counts as one.
    public func contains(_ domain: String) -> Bool {
        let labels = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count > 1, !labels.contains(where: \.isEmpty) else { return true }
        return isListed(domain)
    }

    /// Returns the site of a host: the public suffix and one more label, or the host itself if it has no such name.
    func site(of host: String) -> String {
        guard !CookieURL.isAddress(host) else { return host }
        var domain = host[...]
        var site = domain
        // Removes labels from the left until only a public suffix is left.
        while !contains(String(domain)) {
            site = domain
            guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { break }
            domain = domain[domain.utf8.index(after: dot)...]
        }
        return String(site)
    }

    /// Whether a domain consists of a label that countries reserve and a country, such as `co.uk`.
    private static func isOfCountry(_ domain: String) -> Bool {
        let labels = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count == 2 && labels[1].count == 2 && secondLabels.contains(Substring(labels[0]))
    }

    private static let secondLabels: Set<Substring> = ["ac", "co", "com", "edu", "gov", "mil", "net", "org"]

    private static let standardSuffixes: Set<String> = [
        "ad.jp", "ed.jp", "go.jp", "gr.jp", "lg.jp", "ne.jp", "or.jp",
        "go.kr", "ne.kr", "or.kr", "pe.kr", "re.kr",
        "ltd.uk", "me.uk", "nhs.uk", "plc.uk", "police.uk", "sch.uk",
        "gob.ar", "gob.mx", "or.at", "or.id", "or.th", "or.tz", "go.id", "go.ke", "go.th", "go.tz",
        "amplifyapp.com", "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "deno.dev",
        "firebaseapp.com", "fly.dev", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "ngrok-free.app",
        "ngrok.app", "ngrok.io", "onrender.com", "pages.dev", "railway.app", "run.app", "s3.amazonaws.com",
        "surge.sh", "trycloudflare.com", "vercel.app", "web.app", "workers.dev",
    ]
}
