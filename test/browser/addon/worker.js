// The service worker of an application that lets it sync in the background.
// oxlint-disable-next-line import/no-unassigned-import -- it listens for events by itself
import 'dexie-cloud-addon/service-worker'
