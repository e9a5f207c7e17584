#if SQLite
import Networking

extension UserText {
    /// The texts of this module's errors.
    static let sqlite = [unusableCache]

    static let unusableCache = UserText(
        key: "cache.unusable",
        description: "Saved data could not be read or written.",
        reason: "The file of the saved data is damaged or in use, or there is not enough free space.",
        suggestion: "Check the free space on this device and try again."
    )
}
#endif
