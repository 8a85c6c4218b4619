{{- define "tallystick.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "tallystick.selector" -}}
app.kubernetes.io/name: tallystick
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "tallystick.labels" -}}
app.kubernetes.io/name: tallystick
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tallystick.address" -}}
{{- $root := index . 0 -}}
postgresql://{{ index . 1 }}@{{ include "tallystick.name" $root }}-database-rw/tallystick?ledger={{ $root.Values.ledger }}&sslmode=verify-full&sslrootcert=/database/ca.crt
{{- end }}

{{- define "tallystick.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
automountServiceAccountToken: false
{{- end }}

{{- define "tallystick.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
